// The bf16 block on AMX tiles: four accumulators of 16 x 16, two tiles of A, two of B.
#include "glint/kernels/bf16_blocks.h"

#if defined(__x86_64__) || defined(GLINT_SIMULATED_INTRINSICS)
#include <immintrin.h>  // of tests/kernels/simulated where the tests compile this file a second time

namespace glint {
namespace {

// All eight tiles as 16 rows of 64 bytes. In read-only memory: the intrinsic of g++ 12 tells the compiler of
// the first 8 bytes alone, so that stores to a local one could be dropped.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kTiles;

struct Amx : PortableRounding {
  // By the calling convention tiles and their configuration are the callee's to change, so that none can be
  // kept from one product to the next; released, they cost nothing when the thread is switched.
  struct Session {
    Session() { _tile_loadconfig(&kTiles); }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  static constexpr bool kAnyRows = false, kPairs = false;

  static void block(size_t, size_t steps, Bf16Rows rows, const uint16_t* b, float* c, size_t c_row, bool add) {
    const uint16_t* a = rows.at;
    const size_t a_row = rows.row;
    __asm__ volatile("" ::: "memory");  // what follows reads memory, and g++ is told so of stores only
    const size_t a_bytes = a_row * sizeof(uint16_t), c_bytes = c_row * sizeof(float);
    if (add) {
      _tile_loadd(0, c, c_bytes);
      _tile_loadd(1, c + 16, c_bytes);
      _tile_loadd(2, c + 16 * c_row, c_bytes);
      _tile_loadd(3, c + 16 * c_row + 16, c_bytes);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (size_t step = 0; step < steps; step++) {
      const uint16_t* a0 = a + step * 32;
      const uint16_t* b0 = b + step * 1024;
      _tile_loadd(4, a0, a_bytes);
      _tile_loadd(5, a0 + 16 * a_row, a_bytes);
      _tile_stream_loadd(6, b0, 64);  // B passes by once a row of blocks: it must not push A out of L1
      _tile_stream_loadd(7, b0 + 512, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + 16, c_bytes);
    _tile_stored(2, c + 16 * c_row, c_bytes);
    _tile_stored(3, c + 16 * c_row + 16, c_bytes);
  }
};

}  // namespace

extern const Bf16Products bf16_amx_products;
const Bf16Products bf16_amx_products = make_bf16_products<Amx>();

}  // namespace glint
#endif
