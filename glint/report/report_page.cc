#include "glint/report/report_page.h"

namespace glint {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::in_part:
      return "holds in part";
    case Verdict::fails:
      return "does not hold";
    case Verdict::not_tested:
      break;
  }
  return "not tested at this scale";
}

}  // namespace glint
