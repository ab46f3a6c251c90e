//===- ThreadPool.cpp - Blocks of a grid over CPU cores ---------*- C++ -*-===//
//
// Workers wait on one queue of jobs and take chunks from the oldest job with an
// atomic counter; the submitter takes chunks too, so a job finishes even when
// no worker is free.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

using namespace tilemlir::runtime;

namespace {

thread_local bool insideBody = false;

struct Job {
  const std::function<void(int64_t, int64_t)> &body;
  const std::function<bool()> &stop;
  int64_t count;
  int64_t chunk;
  int helpersWanted; ///< workers that may still join
  std::atomic<int64_t> next{0};
  int helpersRunning = 0; ///< guarded by the pool's mutex
  std::condition_variable finished;

  void work() {
    bool outer = insideBody;
    insideBody = true;
    for (;;) {
      int64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
      if (first >= count || (stop && stop()))
        break;
      body(first, std::min(first + chunk, count));
    }
    insideBody = outer;
  }
};

class Pool {
public:
  void run(Job &job) {
    // Workers count `helpersWanted` down as soon as the job is in the queue.
    const int helpers = job.helpersWanted;
    {
      std::lock_guard<std::mutex> lock(mutex);
      try {
        while (workers < helpers)
          startWorker();
      } catch (const std::system_error &) {
        // No more threads to be had: fewer do the same work.
      }
      queue.push_back(&job);
    }
    for (int i = 0; i < helpers; ++i)
      wake.notify_one();
    job.work();
    std::unique_lock<std::mutex> lock(mutex);
    // Nobody joins from here on; wait for those who did.
    auto place = std::find(queue.begin(), queue.end(), &job);
    if (place != queue.end())
      queue.erase(place);
    job.finished.wait(lock, [&] { return job.helpersRunning == 0; });
  }

private:
  void startWorker() {
    // Detached: workers live as long as the process and hold no resources that
    // an orderly exit would have to return.
    std::thread([this] { loop(); }).detach();
    ++workers;
  }

  void loop() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return !queue.empty(); });
      Job *job = queue.front();
      ++job->helpersRunning;
      if (--job->helpersWanted == 0)
        queue.pop_front();
      lock.unlock();
      job->work();
      lock.lock();
      if (--job->helpersRunning == 0)
        job->finished.notify_one();
    }
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Job *> queue;
  int workers = 0;
};

std::atomic<Pool *> currentPool{nullptr};
std::atomic<int> fixedThreads{0};
std::mutex creationMutex;

// Threads do not survive fork: the child forgets the parent's pool (its mutex
// may be held by a thread that no longer exists) and makes its own when needed.
// Handlers hold the creation mutex across the fork so that it is never
// inherited in a locked state.
void beforeFork() { creationMutex.lock(); }
void afterForkInParent() { creationMutex.unlock(); }
void afterForkInChild() {
  currentPool.store(nullptr);
  insideBody = false;
  creationMutex.unlock();
}

Pool &pool() {
  Pool *existing = currentPool.load(std::memory_order_acquire);
  if (existing)
    return *existing;
  static std::once_flag registered;
  std::call_once(registered, [] {
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
  });
  std::lock_guard<std::mutex> lock(creationMutex);
  existing = currentPool.load(std::memory_order_acquire);
  if (!existing) {
    existing = new Pool; // lives until the process ends: workers are detached
    currentPool.store(existing, std::memory_order_release);
  }
  return *existing;
}

int availableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace

int tilemlir::runtime::threadCount() {
  int fixed = fixedThreads.load(std::memory_order_relaxed);
  if (fixed > 0)
    return fixed;
  static const int available = availableProcessors();
  return available;
}

void tilemlir::runtime::setThreadCount(int count) {
  fixedThreads.store(std::max(0, count), std::memory_order_relaxed);
}

void tilemlir::runtime::parallelFor(
    int64_t count, const std::function<void(int64_t, int64_t)> &body,
    const std::function<bool()> &stop) {
  if (count <= 0)
    return;
  int64_t threads = std::min<int64_t>(threadCount(), count);
  if (threads == 1 || insideBody) {
    // One range at a time still, so that `stop` is honoured between blocks.
    int64_t chunk = std::max<int64_t>(1, count / 8);
    Job job{body, stop, count, chunk, 0, {}, 0, {}};
    job.work();
    return;
  }
  // Several chunks per thread even out blocks of unequal cost; a chunk of
  // neighbouring blocks reuses caches.
  int64_t chunk = std::max<int64_t>(1, count / (threads * 8));
  Job job{body, stop, count, chunk, static_cast<int>(threads - 1), {}, 0, {}};
  pool().run(job);
}
