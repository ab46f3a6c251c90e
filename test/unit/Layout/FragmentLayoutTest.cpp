//===- FragmentLayoutTest.cpp - Construction and queries ------------------===//
//
// Compares queries of random fragment layouts with enumeration.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"

using namespace oracle;
using tilemlir::layout::ElementLocation;
using tilemlir::layout::Occupancy;
using tilemlir::layout::ReplicaTerm;

TEST(verifyAgreesWithEnumeration) {
  int valid = 0, invalid = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<int64_t> shape = randomShape(200, 1, 2);
    // Start from a valid layout and disturb it half of the time.
    FragmentLayout layout = randomLayout(shape, unittest::random(1, 12));
    std::vector<Mode> threads = layout.threadModes();
    std::vector<Mode> registers = layout.registerModes();
    std::vector<Mode> &list = unittest::chance(50) ? threads : registers;
    if (unittest::chance(70) && !list.empty()) {
      Mode &mode = list[unittest::random(0, list.size() - 1)];
      if (mode.dim != kReplica) {
        if (unittest::chance(50))
          mode.stride = unittest::random(1, 2 * shape[mode.dim]);
        else
          mode.extent = unittest::random(1, 6);
      }
    }
    if (product(threads) * product(registers) > 20000)
      continue;
    std::string message = FragmentLayout::verify(shape, threads, registers);
    unittest::setContext(layout.str() + " disturbed: " + message);
    bool expected = isBijective(shape, threads, registers);
    EXPECT_EQ(message.empty(), expected);
    ++(expected ? valid : invalid);
  }
  EXPECT_TRUE(valid > 500);
  EXPECT_TRUE(invalid > 500);
}

TEST(createRejectsMalformedModes) {
  auto error = [](std::vector<int64_t> shape, std::vector<Mode> threads,
                  std::vector<Mode> registers) {
    return FragmentLayout::create(shape, threads, registers).error();
  };
  EXPECT_EQ(error({0}, {}, {}), "dim 0 has extent 0, expected at least 1");
  EXPECT_EQ(error({4}, {{0, 0, 1}}, {}),
            "thread mode 0 has extent 0, expected at least 1");
  EXPECT_EQ(error({4}, {}, {{4, 1, 1}}),
            "register mode 0 refers to dim 1 of a tile of rank 1");
  EXPECT_EQ(error({4}, {}, {{4, 0, 0}}),
            "register mode 0 has stride 0, expected at least 1");
  EXPECT_EQ(error({4}, {}, {{4, kReplica, 0}}),
            "register mode 0 is a replica, but only thread modes can be "
            "replicas");
  EXPECT_EQ(error({4}, {{2, kReplica, 1}}, {{4, 0, 1}}),
            "thread mode 0 is a replica with stride 1, expected 0");
  EXPECT_EQ(error({4}, {{2, 0, 1}}, {}),
            "coordinate 2 of dim 0 is held by no register");
  EXPECT_EQ(error({4}, {{2, 0, 1}}, {{4, 0, 1}}),
            "coordinate 1 of dim 0 is held more than once");
  EXPECT_EQ(
      error({4}, {{1 << 20, kReplica, 0}, {1 << 20, kReplica, 0}}, {{4, 0, 1}}),
      "the extents of the thread modes multiply to 2^31 or more");
  EXPECT_EQ(error({1 << 20, 1 << 20}, {}, {}),
            "the tile has 2^31 elements or more");
}

TEST(scalarTileIsFullyReplicated) {
  auto layout = FragmentLayout::create({}, {replicaMode(32)}, {});
  REQUIRE(layout);
  EXPECT_EQ(layout->numElements(), 1);
  EXPECT_EQ(layout->numRegisters(), 1);
  EXPECT_TRUE(layout->isFullyReplicated());
  EXPECT_FALSE(layout->hasPadding());
  auto location = layout->find({});
  REQUIRE(location.has_value());
  EXPECT_EQ(location->thread, 0);
  EXPECT_EQ(layout->holders({}).size(), size_t(32));
  EXPECT_EQ(layout->str(), "scalar threads(32@r) registers()");
}

TEST(textShowsEveryMode) {
  auto layout = FragmentLayout::create(
      {16, 8}, {{4, 1, 2}, {8, 0, 1}, replicaMode(2)}, {{2, 1, 1}, {2, 0, 8}});
  REQUIRE(layout);
  EXPECT_EQ(layout->str(),
            "16x8 threads(4@1*2, 8@0*1, 2@r) registers(2@1*1, 2@0*8)");
}

TEST(queriesAgreeWithEnumeration) {
  bool sawPadding = false, sawReplica = false;
  for (int round = 0; round < 150; ++round) {
    std::vector<int64_t> shape = randomShape(2048);
    FragmentLayout layout = randomLayout(shape, randomThreads());
    unittest::setContext(layout.str());
    EXPECT_TRUE(layout.isBijectiveModuloReplicas());
    EXPECT_TRUE(
        isBijective(shape, layout.threadModes(), layout.registerModes()));
    const Map map = enumerate(layout);
    EXPECT_EQ(static_cast<int64_t>(map.size()), layout.numThreads());

    std::map<int64_t, std::set<int64_t>> holders;
    bool hasPadding = false;
    std::vector<int64_t> held(layout.numRegisters(), 0);
    std::vector<std::vector<bool>> outside(
        layout.numRegisters(), std::vector<bool>(shape.size(), false));
    for (int64_t t = 0; t < layout.numThreads(); ++t) {
      EXPECT_EQ(layout.replicaIndex(t), replica(layout, t));
      bool primary = true;
      for (const ReplicaTerm &term : layout.primaryPredicate())
        primary &= t / term.threadStride % term.extent == 0;
      EXPECT_EQ(layout.isPrimary(t), primary);
      for (int64_t r = 0; r < layout.numRegisters(); ++r) {
        Coordinate c = coordinate(shape, layout.threadModes(),
                                  layout.registerModes(), t, r);
        if (t % 7 == 0)
          EXPECT_EQ(layout.coordinates(t, r), c);
        EXPECT_EQ(layout.isPadding(t, r), map[t][r] < 0);
        hasPadding |= map[t][r] < 0;
        held[r] += map[t][r] >= 0;
        for (size_t dim = 0; dim < shape.size(); ++dim)
          if (c[dim] >= shape[dim])
            outside[r][dim] = true;
        if (map[t][r] >= 0)
          holders[map[t][r]].insert(t);
      }
    }
    EXPECT_EQ(layout.hasPadding(), hasPadding);
    for (int64_t r = 0; r < layout.numRegisters(); ++r) {
      Occupancy expected = held[r] == 0 ? Occupancy::Never
                           : held[r] == layout.numThreads()
                               ? Occupancy::Always
                               : Occupancy::Sometimes;
      EXPECT_TRUE(layout.occupancy(r) == expected);
      for (size_t dim = 0; dim < shape.size(); ++dim)
        EXPECT_EQ(layout.needsPredicate(r, static_cast<int>(dim)),
                  outside[r][dim]);
    }
    for (const Coordinate &c : allCoordinates(shape)) {
      const int64_t element = linearize(c, shape);
      std::optional<ElementLocation> location = layout.find(c);
      REQUIRE(location.has_value());
      EXPECT_EQ(map[location->thread][location->registerIndex], element);
      EXPECT_EQ(layout.replicaIndex(location->thread), 0);
      int64_t thread = 0, weight = 1;
      for (size_t i = 0; i < layout.threadModes().size(); ++i) {
        thread += location->threadDigits[i] * weight;
        weight *= layout.threadModes()[i].extent;
      }
      EXPECT_EQ(thread, location->thread);
      if (element % 5 == 0)
        EXPECT_EQ(layout.holders(c),
                  std::vector<int64_t>(holders[element].begin(),
                                       holders[element].end()));
    }
    Coordinate beyond(shape.size(), 0);
    beyond[0] = shape[0];
    EXPECT_FALSE(layout.find(beyond));
    beyond[0] = -1;
    EXPECT_FALSE(layout.find(beyond));
    sawPadding |= hasPadding;
    sawReplica |= layout.numReplicas() > 1;
  }
  EXPECT_TRUE(sawPadding);
  EXPECT_TRUE(sawReplica);
}

static bool isSameMapByEnumeration(const FragmentLayout &a,
                                   const FragmentLayout &b) {
  if (a.shape() != b.shape() || a.numThreads() != b.numThreads() ||
      a.numRegisters() != b.numRegisters())
    return false;
  Map mapA = enumerate(a), mapB = enumerate(b);
  if (mapA != mapB)
    return false;
  for (int64_t t = 0; t < a.numThreads(); ++t) {
    bool holds = false;
    for (int64_t element : mapA[t])
      holds |= element >= 0;
    if (holds && (replica(a, t) == 0) != (replica(b, t) == 0))
      return false;
  }
  return true;
}

TEST(sameMapAgreesWithEnumeration) {
  int same = 0, different = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<int64_t> shape = randomShape(512, 1, 2);
    FragmentLayout a = randomLayout(shape, unittest::random(1, 16));
    FragmentLayout b = a;
    switch (unittest::random(0, 3)) {
    case 0:
      b = splitModes(a);
      break;
    case 1:
      b = shuffleRegisters(a);
      break;
    case 2:
      b = randomLayout(shape, a.numThreads());
      break;
    case 3:
      b = a.canonical();
      break;
    }
    unittest::setContext(a.str() + " / " + b.str());
    bool expected = isSameMapByEnumeration(a, b);
    EXPECT_EQ(a.isSameMap(b), expected);
    EXPECT_EQ(b.isSameMap(a), expected);
    ++(expected ? same : different);
    EXPECT_EQ(a.canonical() == b.canonical(), expected);
    FragmentLayout canonical = a.canonical();
    EXPECT_TRUE(isSameMapByEnumeration(a, canonical));
    EXPECT_EQ(canonical.str(), canonical.canonical().str());
    EXPECT_EQ(canonical.str(), splitModes(a).canonical().str());
  }
  EXPECT_TRUE(same > 300);
  EXPECT_TRUE(different > 300);
}

TEST(canonicalFormShortensDigits) {
  auto canonical = [](std::vector<int64_t> shape, std::vector<Mode> threads) {
    return FragmentLayout::create(shape, threads, {})->canonical().str();
  };
  EXPECT_EQ(canonical({5}, {{12, 0, 1}}),
            "5 threads(6@0*1, 2@0*6) registers()");
  EXPECT_EQ(canonical({5}, {{4, 0, 1}, {3, 0, 4}}),
            "5 threads(6@0*1, 2@0*6) registers()");
  EXPECT_EQ(canonical({5}, {{6, 0, 1}, {2, 0, 17}}),
            "5 threads(6@0*1, 2@0*6) registers()");
  EXPECT_EQ(canonical({2, 4}, {{2, 0, 1}, {8, 1, 1}}),
            "2x4 threads(2@0*1, 4@1*1, 2@0*2) registers()");
}

TEST(sameMapSeesThroughPadding) {
  // The idle threads can be written along either dim.
  auto a = FragmentLayout::create({1, 1}, {{4, 0, 1}}, {});
  auto b = FragmentLayout::create({1, 1}, {{4, 1, 1}}, {});
  auto c = FragmentLayout::create({1, 1}, {replicaMode(4)}, {});
  REQUIRE(a && b && c);
  EXPECT_TRUE(a->isSameMap(*b));
  EXPECT_FALSE(a->isSameMap(*c));
}

TEST(contiguousElementsAreVectors) {
  int vectors = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<int64_t> shape = randomShape(2048, 1, 2);
    FragmentLayout layout = randomLayout(shape, unittest::random(1, 16));
    unittest::setContext(layout.str());
    for (int dim = 0; dim < layout.rank(); ++dim) {
      auto isVector = [&](int64_t length) {
        for (int64_t t = 0; t < layout.numThreads(); ++t)
          for (int64_t r = 0; r < layout.numRegisters(); r += length) {
            Coordinate first = coordinate(shape, layout.threadModes(),
                                          layout.registerModes(), t, r);
            if (first[dim] % length != 0)
              return false;
            for (int64_t i = 1; i < length; ++i) {
              Coordinate c = coordinate(shape, layout.threadModes(),
                                        layout.registerModes(), t, r + i);
              --c[dim];
              c[dim] -= i - 1;
              if (c != first)
                return false;
              c[dim] += i;
              if (inside(c, shape) != inside(first, shape))
                return false;
            }
          }
        return true;
      };
      const int64_t length = layout.contiguousElements(dim);
      EXPECT_EQ(layout.numRegisters() % length, 0);
      EXPECT_TRUE(isVector(length));
      vectors += length > 1;
      if (!layout.hasPadding())
        for (int64_t longer = length + 1; longer <= layout.numRegisters();
             ++longer)
          if (layout.numRegisters() % longer == 0)
            EXPECT_FALSE(isVector(longer));
    }
  }
  EXPECT_TRUE(vectors > 50);
}
