"""Small histories as text, one or more for each format: read as they are, and damaged."""

from __future__ import annotations

from typing import Final

LOG: Final = (
    "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
    "INFO  jepsen.util - 1\t:invoke\t:write\t3\n"
    "INFO  jepsen.util - 0\t:ok\t:read\tnil\n"
    "INFO  jepsen.util - 1\t:info\t:write\t:timed-out\n"
    "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
    "INFO  jepsen.util - 2\t:invoke\t:cas\t[3 4]\n"
    "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
    "INFO  jepsen.util - 2\t:fail\t:cas\t[3 4]\n"
    "INFO  jepsen.util - 0\t:fail\t:read\t:timed-out\n"
)
REGISTER: Final = (
    "{:process 0, :type :invoke, :f :write, :value 1, :time 10, :index 0}\n"
    "{:process :nemesis, :type :info, :f :start-partition, :value nil, :time 11, :index 1}\n"
    "{:process 1, :type :invoke, :f :read, :value nil, :time 12, :index 2}\n"
    '{:process :nemesis, :type :info, :f :start-partition, :value {"n1" #{"n2"}}, :time 13}\n'
    "{:process 0, :type :ok, :f :write, :value 1, :time 14, :index 4}\n"
    "{:process 1, :type :ok, :f :read, :value 1, :time 15, :index 5}\n"
    "{:process 0, :type :invoke, :f :cas, :value [1 2], :time 16, :index 6}\n"
    "{:process 0, :type :fail, :f :cas, :value [1 2], :time 17, :error [:code 100], :index 7}\n"
)
KNOSSOS: Final = (
    "; from a test\n[{:process 0 :type :invoke :f :enqueue :value 1}\n"
    " {:process 0 :type :ok :f :enqueue :value 1}\n"
    " #_ {:process 7} {:process 1 :type :invoke :f :dequeue :value nil}\n"
    " {:process 1 :type :ok :f :dequeue :value 1}]\n"
)
PORCUPINE: Final = (
    '{:process 0, :type :invoke, :f :append, :key "0", :value "x 0 0 y"}\n'
    '{:process 1, :type :invoke, :f :get, :key "7", :value nil}\n'
    '{:process 0, :type :ok, :f :append, :key "0", :value "x 0 0 y"}\n'
    '{:process 1, :type :ok, :f :get, :key "7", :value ""}\n'
    '{:process 1, :type :invoke, :f :put, :key "7", :value "\\u00e9\\n"}\n'
)
KAFKA: Final = (
    "{:index 0, :time 5, :type :invoke, :process 0, :f :send, :value [[:send 0 1]]}\n"
    "{:index 1, :time 6, :type :ok, :process 0, :f :send, :value [[:send 0 [0 1]]]}\n"
    "{:index 2, :time 7, :type :invoke, :process 1, :f :subscribe, :value [0 1]}\n"
    "{:index 3, :time 8, :type :ok, :process 1, :f :subscribe, :value [0 1]}\n"
    "{:index 4, :time 9, :type :invoke, :process 1, :f :txn, :value [[:poll] [:send 1 2]]}\n"
    "{:index 5, :time 9, :type :info, :process 1, :f :txn, :value [[:poll {0 [[0 1]]}]"
    " [:send 1 2]], :error :timeout, :rebalance-log [{:keys [0]}]}\n"
    "{:index 6, :time 10, :type :invoke, :process 2, :f :poll, :value [[:poll]]}\n"
    "{:index 7, :time 12, :type :ok, :process 2, :f :poll, :value [[:poll {0 [[0 1]], 1 []}]]}\n"
    "{:index 8, :time 13, :type :invoke, :process 3, :f :crash, :value nil}\n"
    "{:index 9, :time 13, :type :info, :process 3, :f :crash, :value nil}\n"
    "{:index 10, :time 14, :type :invoke, :process 4, :f :debug-topic-partitions, :value [0]}\n"
)
LIST_APPEND: Final = (
    "#jepsen.history.Op{:index 0, :time 1, :type :invoke, :process 0, :f :txn,"
    " :value [[:append 3 1] [:r 3 nil]]}\n"
    "#jepsen.history.Op{:index 1, :time 2, :type :ok, :process 0, :f :txn,"
    " :value [[:append 3 1] [:r 3 [1]]]}\n"
)
JSON_LINES: Final = (
    '{"index":0,"time":1,"process":0,"type":"invoke",'
    '"f":"txn","value":[["w","x",1],["r","y",null]]}\n'
    '{"index":1,"time":2,"process":1,"type":"invoke","f":"txn","value":[["r","x",null]]}\n'
    '{"index":2,"time":3,"process":0,"type":"ok","f":"txn","value":[["w","x",1],["r","y",null]]}\n'
    '{"index":3,"time":4,"process":1,"type":"ok","f":"txn","value":[["r","x",1]],"node":"n1"}\n'
)
JSON_ARRAY: Final = (
    '[\n {"process": 0, "type": "invoke", "f": "add", "value": 1},\n'
    ' {"process": 0, "type": "ok", "f": "add", "value": 1},\n'
    ' {"process": 1, "type": "invoke", "f": "read", "value": null},\n'
    ' {"process": 1, "type": "ok", "f": "read", "value": [1]}\n]\n'
)

TEXTS: Final = {
    "log": (LOG, "loglines", "cas-register"),
    "register": (REGISTER, "jepsen", "cas-register"),
    "knossos": (KNOSSOS, "knossos", "queue"),
    "porcupine": (PORCUPINE, "porcupine", "kv"),
    "kafka": (KAFKA, "jepsen", "partition-log"),
    "list-append": (LIST_APPEND, "jepsen", "list-append"),
    "json-lines": (JSON_LINES, "jsonlines", "register"),
    "json-array": (JSON_ARRAY, "jsonlines", "set"),
}
"""Name to text, format and model."""
