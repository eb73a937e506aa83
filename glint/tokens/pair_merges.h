// Byte-pair merging: of all neighbours that may become one piece, the pair of the smallest priority does, the
// left one of equals, until none may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace glint {

struct MergeSymbol {
  uint32_t id = 0;
  size_t begin = 0, length = 0;  // in bytes of the text; a length of 0 has been merged into the one before
  int64_t previous = -1, next = -1;
};

struct MergeRule {
  double priority = 0;
  uint32_t id = 0;  // of the whole
};

// `symbols` in the order of the text; links are set here. rule(left, right) is an optional MergeRule. What is
// left has a length above 0.
void merge_pairs(std::vector<MergeSymbol>& symbols, auto&& rule) {
  struct Candidate {
    double priority;
    int64_t left, right;
    size_t length;  // of both when they were found: another one means that a part is gone
    uint32_t id;
    bool operator<(const Candidate& o) const { return priority != o.priority ? priority > o.priority : left > o.left; }
  };
  std::priority_queue<Candidate> open;
  const auto offer = [&](int64_t left, int64_t right) {
    if (left < 0 || right < 0) return;
    const MergeSymbol &a = symbols[static_cast<size_t>(left)], &b = symbols[static_cast<size_t>(right)];
    if (const std::optional<MergeRule> r = rule(a, b))
      open.push({r->priority, left, right, a.length + b.length, r->id});
  };
  const auto count = static_cast<int64_t>(symbols.size());
  for (int64_t i = 0; i < count; i++) {
    symbols[static_cast<size_t>(i)].previous = i - 1;
    symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
  for (int64_t i = 0; i + 1 < count; i++) offer(i, i + 1);
  while (!open.empty()) {
    const Candidate best = open.top();
    open.pop();
    MergeSymbol &a = symbols[static_cast<size_t>(best.left)], &b = symbols[static_cast<size_t>(best.right)];
    if (a.length == 0 || b.length == 0 || a.length + b.length != best.length) continue;
    a.id = best.id;
    a.length = best.length;
    a.next = b.next;
    if (b.next >= 0) symbols[static_cast<size_t>(b.next)].previous = best.left;
    b.length = 0;
    offer(a.previous, best.left);
    offer(best.left, a.next);
  }
}

}  // namespace glint
