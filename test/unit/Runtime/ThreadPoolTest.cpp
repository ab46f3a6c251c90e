// The thread pool: every index once, from several submitters, with an early
// stop.
#include "tilemlir/Runtime/ThreadPool.h"
#include "UnitTest.h"

#include <atomic>
#include <memory>
#include <thread>

using namespace tilemlir::runtime;
using namespace tilemlir::unittest;

TEST(EveryIndexRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{7},
                          int64_t{64}, int64_t{1000}, int64_t{4097}}) {
      auto hits = std::make_unique<std::atomic<int>[]>(count + 1);
      parallelFor(count, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i)
          hits[i].fetch_add(1);
      });
      int64_t once = 0;
      for (int64_t i = 0; i < count; ++i)
        once += hits[i].load() == 1;
      EXPECT_EQ(once, count);
    }
  }
  setThreadCount(0);
}

TEST(SeveralSubmittersAndNestedCalls) {
  setThreadCount(3);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> submitters;
  for (int submitter = 0; submitter < 4; ++submitter)
    submitters.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        parallelFor(20, [&](int64_t first, int64_t last) {
          parallelFor(last - first, [&](int64_t innerFirst, int64_t innerLast) {
            total.fetch_add(innerLast - innerFirst);
          });
        });
    });
  for (std::thread &submitter : submitters)
    submitter.join();
  EXPECT_EQ(total.load(), int64_t{4 * 50 * 20});
  setThreadCount(0);
}

TEST(StoppingDropsTheRest) {
  for (int threads : {1, 4}) {
    setThreadCount(threads);
    std::atomic<bool> stop{false};
    std::atomic<int64_t> ran{0};
    parallelFor(
        1 << 20,
        [&](int64_t first, int64_t last) {
          ran.fetch_add(last - first);
          stop = true;
        },
        [&] { return stop.load(); });
    EXPECT_TRUE(ran.load() > 0 && ran.load() < (1 << 20));
  }
  setThreadCount(0);
}

TEST(TheDefaultUsesAtLeastOneThread) {
  EXPECT_TRUE(threadCount() >= 1);
  setThreadCount(5);
  EXPECT_EQ(threadCount(), 5);
  setThreadCount(0);
}
