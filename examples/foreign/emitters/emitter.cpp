// Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it; it needs C++17.

#include <iostream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

class Json;
/// Rows, messages and steps are Fields: what is left out is hidden, not unchanged.
using Fields = std::vector<std::pair<std::string, Json>>;

class Json {
 public:
  Json(int value) : text(std::to_string(value)) {}
  Json(long long value) : text(std::to_string(value)) {}
  Json(bool value) : text(value ? "true" : "false") {}
  Json(const char* value) : Json(std::string(value)) {}
  // Names of roles and errors need no escapes.
  Json(const std::string& value) : text('"' + value + '"') {}
  Json(const std::vector<Json>& values) : text("[") {
    for (const Json& each : values) text += (text.size() > 1 ? "," : "") + each.text;
    text += ']';
  }
  Json(const Fields& fields) : text("{") {
    for (const auto& [name, value] : fields)
      text += (text.size() > 1 ? ",\"" : "\"") + name + "\":" + value.text;
    text += '}';
  }
  std::string text;
};

/// May be used by several threads: lines are whole, and in the order of the calls.
class Emitter {
 public:
  /// Writes the header. rows: "full" if every field will be there, else "partial".
  Emitter(std::ostream& to, const char* producer, const char* rows, const Fields& constants)
      : out(to) {
    line({{"format", "kraftcheck steps 1"}, {"producer", producer}, {"rows", rows},
          {"constants", constants}});
  }

  /// Writes one handler call of a node. Call it under the lock that guards the node's state.
  void step(int node, Fields fields) {
    fields.emplace_back("node", node);
    line(fields);
  }

 private:
  void line(const Fields& fields) {
    const std::lock_guard<std::mutex> lock(mutex);
    out << Json(fields).text << std::endl;  // what was written survives a crash
  }

  std::ostream& out;
  std::mutex mutex;
};

int main() {
  const Fields voters{{"protocol", "quorum"}, {"voters", std::vector<Json>{1, 2, 3}},
                      {"fetchMaxRecords", 2}};
  Emitter emitter(std::cout, "emitter", "partial", voters);
  emitter.step(1, {{"input", Fields{{"type", "ElectionTimeout"}}},
                   {"after", Fields{{"role", "Prospective"}, {"epoch", 0}}}});
}
