// Ranks as threads: sums are left folds whatever the number of ranks, and whole runs of images and stories
// give the bytes of one rank alone.
#include "glint/train/group.h"

#include <numeric>
#include <thread>

#include "glint/data/text_data.h"
#include "glint/train/local_ranks.h"
#include "glint/train/text_task.h"
#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;

// body(group) on a thread for each rank. An Error of a rank ends the others, as a program would: it is
// reported to rank 0, which throws it here.
template <class Body>
void on_ranks(size_t size, const Body& body, LinkTimes times = {}) {
  std::vector<std::unique_ptr<Transport>> transports = local_ranks(size, times);
  std::vector<std::thread> threads;
  std::exception_ptr error;
  for (size_t r = 0; r < size; r++)
    threads.emplace_back([&, r] {
      Group group(std::move(transports[r]));
      try {
        body(group);
      } catch (const Error& e) {
        if (r == 0) error = std::current_exception();
        group.report(e);
        group.abort(e.exit_code());
      }
    });
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

TEST(Group, PartsCoverAllAndRankZeroHasTheFirst) {
  for (const size_t count : {0, 1, 5, 16, 100, 683})
    for (const size_t size : {1, 2, 3, 7, 40})
      for (const size_t unit : {1, 32}) {
        size_t next = 0;
        for (size_t r = 0; r < size; r++) {
          const Range part = part_of(count, r, size, unit);
          EXPECT_EQ(part.first, next);
          EXPECT_TRUE(part.first % unit == 0 || part.count == 0);
          EXPECT_LE(part.count, part_of(count, 0, size, unit).count);
          next += part.count;
        }
        EXPECT_EQ(next, count);
      }
}

// Jobs that train side by side share a group that is alone: what one of them sets there, another would read.
TEST(Group, AloneKeepsNothingOfThoseThatShareIt) {
  Group alone;
  const auto mark = std::make_shared<int>(0);
  const StopWhileWaiting asking(alone, [mark] { return *mark != 0; });
  EXPECT_EQ(mark.use_count(), 1);
}

// Numbers whose sum depends on the order: the fold from left to right is one of many.
TEST(Group, AnOrderedSumIsALeftFold) {
  constexpr size_t kLanes = 12, kFloats = 1000;
  const auto value = [](size_t lane, size_t i) {
    return static_cast<float>((Rng(3, Stream::test).uniform(lane * kFloats + i) - 0.5) *
                              std::pow(10.0, static_cast<double>(lane % 5)));
  };
  std::vector<float> want(kFloats), reversed(kFloats);
  for (size_t i = 0; i < kFloats; i++) {
    for (size_t lane = 0; lane < kLanes; lane++) want[i] += value(lane, i);
    for (size_t lane = kLanes; lane-- > 0;) reversed[i] += value(lane, i);
  }
  ASSERT_NE(want, reversed);
  std::vector<Range> pieces;
  for (size_t first = 0; first < kFloats; first += 130)
    pieces.push_back({first, std::min<size_t>(130, kFloats - first)});
  for (const size_t ranks : {1, 2, 3, 4, 12})
    for (const LinkTimes times : {LinkTimes(), LinkTimes{.latency = 2e-3, .seconds_per_byte = 1e-7}})
      on_ranks(
          ranks,
          [&](Group& group) {
            const Range own = part_of(kLanes, group.rank(), group.size());
            for (size_t repeat = 0; repeat < 3; repeat++) {
              std::vector<float> sum(kFloats);
              group.ordered_sum(pieces, 1 + group.rank() % 3, sum, [&](Range some) {
                for (size_t p = some.first; p < some.first + some.count; p++)
                  for (size_t i = pieces[p].first; i < pieces[p].first + pieces[p].count; i++)
                    for (size_t lane = own.first; lane < own.first + own.count; lane++) sum[i] += value(lane, i);
              });
              EXPECT_EQ(sum, want) << group.rank() << " of " << ranks;
            }
          },
          times);
}

TEST(Group, BroadcastGatherAndBarrier) {
  for (const size_t ranks : {1, 2, 3, 5, 8})
    on_ranks(ranks, [&](Group& group) {
      EXPECT_EQ(group.broadcast(group.first() ? std::string(100000, 'x') : ""), std::string(100000, 'x'));
      const std::vector<std::string> all = group.gather(std::to_string(group.rank()));
      ASSERT_EQ(all.size(), group.first() ? ranks : 0);
      for (size_t r = 0; r < all.size(); r++) EXPECT_EQ(all[r], std::to_string(r));
      std::vector<uint64_t> values(ranks);
      values[group.rank()] = 7 * group.rank();
      std::vector<Range> parts;
      for (size_t r = 0; r < ranks; r++) parts.push_back({8 * r, 8});
      group.gather(std::as_writable_bytes(std::span(values)), parts);
      for (size_t r = 0; group.first() && r < ranks; r++) EXPECT_EQ(values[r], 7 * r);
      group.barrier();
    });
}

TEST(Group, AnErrorOfAnyRankReachesTheFirstWithItsRank) {
  for (const size_t bad : {0, 1, 3}) try {
      on_ranks(4, [&](Group& group) {
        if (group.rank() == bad) throw Error({.code = ErrorCode::bad_file, .what = "no such file"});
        group.barrier();
      });
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_file);
      EXPECT_EQ(e.parts().what, (bad ? "rank " + std::to_string(bad) + " of 4: " : "") + "no such file");
    }
}

// Without ending the others: what one rank throws is thrown at all, once with the rank that it comes from.
TEST(Group, AnErrorOfAnyRankIsThrownAtAll) {
  for (const size_t bad : {0, 1, 3}) {
    std::vector<std::unique_ptr<Transport>> transports = local_ranks(4);
    std::vector<std::string> what(4);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < 4; r++)
      threads.emplace_back([&, r] {
        Group group(std::move(transports[r]));
        try {
          if (r == bad) throw Error({.code = ErrorCode::bad_file, .what = "no such file"});
          group.barrier();
        } catch (const Error& e) {
          what[r] = e.parts().what;
          group.report(e);
        }
      });
    for (std::thread& t : threads) t.join();
    for (size_t r = 0; r < 4; r++)
      EXPECT_EQ(what[r], (bad && r != bad ? "rank " + std::to_string(bad) + " of 4: " : "") + "no such file")
          << r << " after " << bad;
  }
}

// The chain in the engines: a batch in parts has the gradient of the whole, cut anywhere in f32 and at
// multiples of 32 in bf16. This is what says that gradients are left folds over rows.
void check_rows(Bf16Unit unit, size_t cut) {
  ClassifierConfig config{.inputs = 36, .classes = 5, .layers = 2, .d_model = 72};
  config.bias = true;
  config.norm = Norm::rms;
  auto machine = unit == Bf16Unit::none ? std::make_unique<TestMachine>(2) : std::make_unique<TestMachine>(2, unit);
  const size_t rows = 352;
  ClassifierEngine engine(config, machine->compute, rows, true);
  const size_t floats = engine.params().table.floats();
  Matrix<float> weights(1, floats), want(1, floats), got(1, floats);
  engine.params().table.initialise(weights.span(), 1);
  engine.set_weights(weights.span());
  const ImageSet set = spots(1, rows, 6, 5);
  size_t first = 0;
  const ClassifierEngine::RowSource source = [&](size_t row, float* out) {
    for (size_t i = 0; i < 36; i++) out[i] = static_cast<float>(set.pixels(first + row, i)) / 255;
  };
  engine.forward_backward(rows, source, set.labels, want.span());
  for (const size_t at : {cut, 5 * cut, 9 * cut}) {
    const OrderedSum here = [](std::span<const Range> pieces, size_t, std::span<float>, const FoldPieces& fold) {
      fold({0, pieces.size()});
    };
    first = 0;
    engine.forward_backward(at, source, set.labels, got.span(), BatchShare{0, rows, here});
    first = at;
    engine.forward_backward(rows - at, source, std::span(set.labels).subspan(at), got.span(),
                            BatchShare{at, rows, here});
    for (const ParamSpec& spec : engine.params().table.specs())
      EXPECT_EQ(std::memcmp(want.data() + spec.offset, got.data() + spec.offset, spec.size() * sizeof(float)), 0)
          << spec.name << " cut at row " << at;
  }
}

TEST(Group, AGradientIsALeftFoldOverRows) { check_rows(Bf16Unit::none, 37); }
TEST(Group, AGradientIsALeftFoldOverRowsInBf16) {
  check_rows(Bf16Unit::emulated, 32);
  if (detect_cpu().avx512_bf16) check_rows(Bf16Unit::avx512, 32);
}

// A run of all ranks. Threads differ from rank to rank.
template <class MakeTask>
std::vector<TrainResult> train_together(const TrainOptions& o, size_t ranks, const std::string& out, Bf16Unit unit,
                                        const MakeTask& make, uint64_t stop_after = 0) {
  std::vector<TrainResult> results(ranks);
  on_ranks(ranks, [&](Group& group) {
    const size_t threads = 1 + group.rank() % 2;
    auto machine =
        unit == Bf16Unit::none ? std::make_unique<TestMachine>(threads) : std::make_unique<TestMachine>(threads, unit);
    const std::unique_ptr<Task> task = make(machine->compute, group);
    uint64_t steps = 0;
    TrainHooks hooks;
    hooks.on_step = [&](uint64_t, uint64_t, double) { steps++; };
    hooks.should_stop = [&] { return stop_after && steps >= stop_after; };
    const TrainSetup setup{.out = out, .machine = Json::object(), .group = &group};
    results[group.rank()] = train(o, *task, machine->compute, quick_files(), setup, hooks);
  });
  return results;
}

void check_images(TrainOptions o, Bf16Unit unit, const std::vector<size_t>& ranks) {
  const Dataset data = small_data();
  const auto make = [&](const Compute& compute, Group& group) {
    return std::make_unique<ImageTask>(o, data, compute, &group);
  };
  const Folder folder;
  train_together(o, 1, folder / "alone", unit, make);
  const auto want = lasting_bytes(folder / "alone");
  for (const size_t n : ranks) {
    const std::string out = folder / ("ranks-" + std::to_string(n));
    for (const TrainResult& r : train_together(o, n, out, unit, make)) EXPECT_EQ(r.state, TrainResult::State::finished);
    expect_same(want, lasting_bytes(out), o.gate + " on " + std::to_string(n) + " ranks");
  }
  // Stopped twice, each time with another number of ranks.
  const std::string out = folder / "stopped";
  EXPECT_EQ(train_together(o, 3, out, unit, make, 4)[0].state, TrainResult::State::interrupted);
  EXPECT_EQ(train_together(o, 2, out, unit, make, 9)[1].state, TrainResult::State::interrupted);
  EXPECT_EQ(train_together(o, 1, out, unit, make)[0].state, TrainResult::State::finished);
  expect_same(want, lasting_bytes(out), "stopped");
  EXPECT_EQ(train_together(o, 3, out, unit, make)[2].state, TrainResult::State::already_finished);
}

TEST(GroupTraining, ImagesHaveTheSameBytesOnAnyRanks) {
  for (const char* gate : {"sqs", "relu", "gelu", "silu", "identity"}) {
    TrainOptions o = small_options();
    o.gate = gate;
    o.batch = 50;
    o.drop_last = false;
    o.bias = std::string(gate) == "sqs";
    o.clip = 0.5;
    o.epochs = 2;
    check_images(o, Bf16Unit::none, {2, 3, 4});
  }
}

TEST(GroupTraining, ImagesHaveTheSameBytesInBf16) {
  TrainOptions o = small_options();
  o.batch = 160;
  o.precision = "bf16";
  o.epochs = 8;
  check_images(o, Bf16Unit::emulated, {2, 3});
  if (detect_cpu().avx512_bf16) check_images(o, Bf16Unit::avx512, {2, 3, 4, 7});
}

TEST(GroupTraining, MoreRanksThanRows) {
  TrainOptions o = small_options();
  o.batch = 3;
  o.epochs = 1;
  check_images(o, Bf16Unit::none, {5});
}

TextData small_stories() {
  TextData data;
  data.name = "small";
  data.checksum = "small";
  const auto corpus = [](uint32_t which, size_t count) {
    const Rng rng(which, Stream::test);
    std::vector<std::vector<TokenId>> stories(count);
    for (size_t s = 0; s < count; s++)
      for (size_t i = 0, n = 2 + rng.below(20, s); i < n; i++)
        stories[s].push_back(static_cast<TokenId>(rng.below(30, 1000 + 40 * s + i)));
    return Corpus::parse(corpus_bytes(stories, 31, std::string(kNoTokenizer)));
  };
  data.train = corpus(1, 90);
  data.valid = corpus(2, 150);
  data.end = 30;
  return data;
}

TrainOptions story_options() {
  TrainOptions o;
  o.text = true;
  o.data = "small";
  o.layers = 2;
  o.d_model = 16;
  o.heads = 2;
  o.context = 16;
  o.batch = 20;
  o.micro_batch = 7;
  o.epochs = 2;
  o.drop_last = false;
  o.clip = 1;
  return o;
}

TEST(GroupTraining, StoriesHaveTheSameBytesOnAnyRanks) {
  const TextData data = small_stories();
  for (const auto& [gate, unit] :
       {std::pair("sqs", Bf16Unit::none), std::pair("gelu", Bf16Unit::none), std::pair("silu", Bf16Unit::emulated)}) {
    TrainOptions o = story_options();
    o.gate = gate;
    if (unit != Bf16Unit::none) o.precision = "bf16";
    const auto make = [&](const Compute& compute, Group& group) {
      return std::make_unique<TextTask>(o, data, compute, &group);
    };
    const Folder folder;
    train_together(o, 1, folder / "alone", unit, make);
    const auto want = lasting_bytes(folder / "alone");
    for (const size_t n : {2, 3, 4, 7}) {
      const std::string out = folder / ("ranks-" + std::to_string(n));
      train_together(o, n, out, unit, make);
      expect_same(want, lasting_bytes(out), std::string(gate) + " on " + std::to_string(n) + " ranks");
    }
    const std::string out = folder / "stopped";
    train_together(o, 7, out, unit, make, 3);
    train_together(o, 2, out, unit, make, 4);
    train_together(o, 3, out, unit, make);
    expect_same(want, lasting_bytes(out), "stopped");
  }
}

TEST(GroupTraining, MoreRanksThanLanesIsAnError) {
  const TextData data = small_stories();
  const TrainOptions o = story_options();
  const Folder folder;
  const auto make = [&](const Compute& compute, Group& group) {
    return std::make_unique<TextTask>(o, data, compute, &group);
  };
  try {
    train_together(o, 8, folder / "run", Bf16Unit::none, make);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().what.find("8 ranks for 7 lanes"), std::string::npos) << e.parts().what;
  }
}

TEST(GroupTraining, RanksWithOtherOptionsOrDataAreNamed) {
  const Dataset data = small_data(), other = small_data(331);
  const Folder folder;
  for (const char* what : {"data.checksum", "options.lr"}) try {
      on_ranks(3, [&](Group& group) {
        TestMachine machine(1);
        TrainOptions o = small_options();
        const bool odd = group.rank() == 2, data_differ = std::string(what) == "data.checksum";
        if (odd && !data_differ) o.lr = 0.5;
        ImageTask task(o, odd && data_differ ? other : data, machine.compute, &group);
        train(o, task, machine.compute, quick_files(), {.out = folder / "run", .group = &group}, {});
      });
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_NE(e.parts().what.find("rank 2 of 3 has " + std::string(what)), std::string::npos) << e.parts().what;
    }
}

// A disk that is full at rank 0 ends all with its error.
TEST(GroupTraining, AFullDiskAtTheFirstRankEndsAll) {
  const Dataset data = small_data();
  const TrainOptions o = small_options();
  for (const size_t at : {3, 12, 25}) {
    const Folder folder;
    FailingFiles full(at);
    try {
      on_ranks(3, [&](Group& group) {
        TestMachine machine(1);
        ImageTask task(o, data, machine.compute, &group);
        train(o, task, machine.compute, group.first() ? full : quick_files(),
              {.out = folder / "run", .checkpoint_every = 4, .machine = Json::object(), .group = &group}, {});
      });
      FAIL() << "no error at operation " << at;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::failure);
      EXPECT_NE(e.parts().what.find("cannot write"), std::string::npos) << e.parts().what;
    }
  }
}

// A stop within an evaluation: the run goes on with that evaluation, and no line is lost.
TEST(GroupTraining, StoppedWithinAnEvaluation) {
  const Dataset data = small_data(330, 3000);
  TrainOptions o = small_options();
  o.eval_first = 12;
  const Folder folder;
  const auto run = [&](size_t ranks, const std::string& out, uint64_t stop_at) {
    on_ranks(ranks, [&](Group& group) {
      TestMachine machine(1);
      ImageTask task(o, data, machine.compute, &group);
      uint64_t step = 0, asked = 0;
      TrainHooks hooks;
      hooks.on_step = [&](uint64_t s, uint64_t, double) { step = s, asked = 0; };
      // Asked first in the evaluation after the step: the test set has three batches.
      hooks.should_stop = [&] { return stop_at && step == stop_at && ++asked == 2; };
      train(o, task, machine.compute, quick_files(), {.out = out, .machine = Json::object(), .group = &group}, hooks);
    });
  };
  run(1, folder / "alone", 0);
  for (const uint64_t stop_at : {5, 10, 30}) {
    const std::string out = folder / ("stop-" + std::to_string(stop_at));
    run(2, out, stop_at);
    EXPECT_EQ(read_json(out + "/run.json")["state"], "interrupted");
    run(3, out, 0);
    expect_same(lasting_bytes(folder / "alone"), lasting_bytes(out), "stop at " + std::to_string(stop_at));
  }
}

}  // namespace
}  // namespace glint
