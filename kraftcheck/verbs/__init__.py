"""What each verb is given: its arguments and options, in groups of verbs that belong together.

options    what verbs of several groups share, as decorators
models     all states, not runs: `spec`, `cover`, `prove`
runs       runs of the reference: `simulate`, `conform`, `drive`, `replay`, `shrink`, `explore`,
           `sql`, `report`, `likelihood`, `verify`
campaigns  many runs judged by everything: `campaign`
histories  what clients saw: `check`, `convert`
clusters   a real Apache Kafka: `cluster`, `record`, `interceptor`, `disk`
serve      brokers for clients, of the reference: `serve`
storage    a log's storage engine and its crashes: `storage`
witness    Kafka's classes under our schedules: `witness`
manual     the documents: `manual`
bugs       known bugs, and a change of one's own: `bugs`, `try`

A verb imports what does its work when it is called, not before: `--help` loads every module of this
package, and must not load Spark, Arrow or Z3.
"""
