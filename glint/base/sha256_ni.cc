#include "glint/base/sha256_ni.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace glint {

#if defined(__x86_64__)

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const bool sse41_and_ssse3 = (c & (1u << 19)) != 0 && (c & (1u << 9)) != 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return sse41_and_ssse3 && (b & (1u << 29)) != 0;
}

// The instructions want the eight words as (a, b, e, f) and (c, d, g, h), highest lane first, and do two
// rounds each; the message schedule advances four words at a time.
__attribute__((target("sha,sse4.1,ssse3"))) void sha256_blocks_ni(std::span<uint32_t, 8> state, const std::byte* blocks,
                                                                  size_t count) {
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m128i* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);

  for (; count > 0; count--, blocks += kSha256Block) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i), big_endian);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      __m128i& now = w[i & 3];
      if (i >= 4) {
        const __m128i ago3 = w[(i + 1) & 3], ago2 = w[(i + 2) & 3], ago1 = w[(i + 3) & 3];
        const __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(now, ago3), _mm_alignr_epi8(ago1, ago2, 4));
        now = _mm_sha256msg2_epu32(partial, ago1);
      }
      const __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSha256Round) + i);
      const __m128i sum = _mm_add_epi32(now, k);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_sha_instructions() { return false; }
void sha256_blocks_ni(std::span<uint32_t, 8>, const std::byte*, size_t) {}

#endif

}  // namespace glint
