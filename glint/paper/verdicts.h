// The paper's claims and what becomes of them: rules that look at the measured numbers and nothing else.
#pragma once

#include "glint/paper/measured.h"
#include "glint/report/report_page.h"

namespace glint {

// Every claim, in the order of the paper, then our own. A claim whose experiment was not run, or was smaller
// than the paper's, is not tested; what the numbers that are there say by themselves is then in `small`.
// Every rule is applied to the numbers that the paper prints as well, where it prints any.
Findings judge(const Measured& measured);

// The margins of the rules. Statements without a number ("on par", "comparable", "near", "few") need one to
// be judged.
inline constexpr size_t kEnoughSeeds = 3;
inline constexpr double kParAccuracy = 0.005;                           // half a percentage point
inline constexpr double kComparableLoss = 1.10;                         // times the best loss
inline constexpr double kRemoteLoss = 1.25;                             // beyond this not even in part
inline constexpr double kEqualLoss = 1.01;                              // times a rival's loss
inline constexpr double kNearSteps = 1.25, kParSteps = 1.10;            // times a rival's steps to a loss
inline constexpr double kTopSimilarity = 0.95, kLeastSimilarity = 0.5;  // the paper's own
inline constexpr double kMostEnergy = 0.5;                   // of a class's form, in its few strongest eigenvectors
inline constexpr double kMostClasses = 0.8;                  // whose picture is most like their own mean
inline constexpr double kParTime = 1.05;                     // times a rival's time
inline constexpr double kTrustedAgreement = 0.9;             // of a form's decisions with the model's
inline constexpr double kDepthLoss = 0.05;                   // accuracy lost against the best depth: training stopped
inline constexpr double kPaperLambda = 0.5, kPaperC = 0.01;  // of SQS

}  // namespace glint
