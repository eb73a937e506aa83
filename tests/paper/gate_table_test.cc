#include "glint/report/gate_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/lab/publish/hf_folder.h"
#include "glint/paper/write.h"

namespace glint {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// What other programs get of the gates knows every one of them.
TEST(GateTable, EveryGateIsExported) {
  const std::string script = gates_javascript("const a = {\n  // {{gates}}\n};\n"), python = gates_python(),
                    model = hf_modeling();
  EXPECT_TRUE(script.starts_with("const a = {\n  \"") && script.ends_with(",\n};\n")) << script;
  for (const GateInfo& gate : gate_table()) {
    const std::string name = "\"" + std::string(gate.text.name) + "\": ", code(gate.code);
    EXPECT_TRUE(has(script, name + "(h, { c, lambda: lam, p }) => " + code + ",\n")) << name;
    EXPECT_TRUE(has(python, name + "lambda h, c, lam, p: " + code + ",\n")) << name;
    EXPECT_FALSE(gate_series(gate.text.name).color.empty()) << name;
  }
  EXPECT_TRUE(has(model, python));
  EXPECT_TRUE(has(model, "keepdim=True) + 1e-08)\n"));
  EXPECT_THROW(gates_javascript("const a = {};\n"), Error);
}

TEST(GateTable, Json) {
  const nlohmann::ordered_json sqs = gate_json(gate_info(GateKind::Sqs)), silu = gate_json(gate_info(GateKind::Silu));
  EXPECT_EQ(sqs["name"], "sqs");
  EXPECT_EQ(sqs["parity"], "odd");
  EXPECT_EQ(sqs["options"].dump(), R"({"c":0.01,"lambda":0.5,"p":1.0})");
  EXPECT_EQ(silu["title"], "SwiGLU");
  EXPECT_EQ(silu["aliases"].dump(), R"(["swiglu","swish"])");
  EXPECT_EQ(silu["parity"], "half-linear");
  EXPECT_TRUE(silu["options"].empty() && silu["glu"] == true);
  EXPECT_EQ(gate_json(plain_activation())["glu"], false);
}

// Two lines of a figure never look the same.
TEST(GateTable, EveryGateHasAStyleOfItsOwn) {
  for (const GateInfo& a : gate_table())
    for (const GateInfo& b : gate_table()) {
      const Series x = gate_series(a.text.name), y = gate_series(b.text.name);
      EXPECT_EQ(&a == &b, x.color == y.color && x.stroke == y.stroke) << a.text.name << ", " << b.text.name;
    }
}

}  // namespace
}  // namespace glint
