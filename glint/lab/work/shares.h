// Work in pieces that several processes share: the ranks of a group, or workers on one file system. The
// pieces are fixed before and each gives bytes, so that the whole is the same however they were shared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/lab/work/engine.h"
#include "glint/lab/work/leases.h"

namespace glint {

// Workers that join: each takes the next piece that nobody has, by leases.
struct PieceSharing {
  bool join = false;
  bool wait = false;  // until the others have finished theirs too
  LeaseTimes times = {};
};

struct Pieces {
  size_t count = 0;
  // Where pieces are kept while some are missing, for other workers, and for the same call after it was
  // stopped: FOLDER-KEY, with a part of the hash of `key`. Whoever has another key has another folder.
  std::string folder, key;
  std::string label, unit;  // of the progress: "scan", "pieces"
  std::function<std::string(size_t)> compute;
};

struct PiecesResult {
  std::vector<std::string> all;  // in order; empty where another process has the result
  size_t left = 0;               // pieces that other workers still compute
  std::string folder;            // of what is kept
};

// With a group the ranks share them, nothing is kept, and rank 0 has the result. Error (interrupted) when the
// engine is asked to stop; what is kept then stays.
PiecesResult compute_pieces(const Engine& engine, const Pieces& pieces, const PieceSharing& sharing);

// Removes what was kept, when the result is safe. Not when workers join: others may still look at it.
void discard_pieces(const PiecesResult& result, const PieceSharing& sharing);

}  // namespace glint
