// HDF5 files in the layout of ann-benchmarks, valid and invalid. libhdf5 writes them.

#include <gmock/gmock.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "runtime/io/vector_file.hpp"
#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using input_files::write_hdf5;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::array<float, 6> values = {1, 2, 3, 4, 5, 6.5F};

// A file with one dataset `train` of that type and shape; HDF5 converts `values` to the type.
void write_dataset(const std::filesystem::path& path, hid_t type, const std::vector<hsize_t>& shape,
                   hid_t properties = H5P_DEFAULT) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t set = H5Dcreate2(file, "train", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  ASSERT_GE(set, 0);
  if (H5Tget_class(type) != H5T_STRING) {
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  H5Dclose(set);
  H5Sclose(space);
  H5Fclose(file);
}

TEST(Hdf5, ReadsTheDatasetTrainUnlessToldAnother) {
  const folder scratch;
  write_hdf5(scratch / "a.hdf5", "train", {2, 3}, values.data());
  write_hdf5(scratch / "b.h5", "test", {3, 2}, values.data());
  const vector_set train = load_vectors(scratch / "a.hdf5");
  EXPECT_EQ(train.count, 2);
  EXPECT_EQ(train.dimension, 3);
  EXPECT_THAT(train.data, ElementsAre(1, 2, 3, 4, 5, 6.5F));
  EXPECT_EQ(train.source, (scratch / "a.hdf5:train").string());
  EXPECT_EQ(load_vectors(scratch / "b.h5:test").count, 3);
  EXPECT_EQ(load_vectors(scratch / "b.h5:/test").count, 3);
  EXPECT_EQ(load_vectors(scratch / "b.h5", {.hdf5_dataset = "test"}).count, 3);
}

TEST(Hdf5, ConvertsOtherNumbers) {
  const folder scratch;
  for (const hid_t type : {H5T_IEEE_F64BE, H5T_STD_I32LE, H5T_STD_U8LE}) {
    write_dataset(scratch / "x.h5", type, {6, 1});
    const float last = type == H5T_IEEE_F64BE ? 6.5F : 6.0F;
    EXPECT_THAT(load_vectors(scratch / "x.h5").data, ElementsAre(1, 2, 3, 4, 5, last));
  }
}

TEST(Hdf5, NumbersOfOtherTypesPieceByPiece) {
  const folder scratch;
  for (const hid_t type : {H5T_IEEE_F64BE, H5T_IEEE_F32BE, H5T_STD_I32LE, H5T_STD_U8LE,
                           H5T_STD_I16BE, H5T_STD_I64LE}) {
    write_dataset(scratch / "x.h5", type, {2, 3});
    const vector_file file = vector_file::open(scratch / "x.h5");
    std::vector<float> last(3);
    file.read(1, 1, last.data());
    EXPECT_THAT(last, ElementsAre(4, 5, H5Tget_class(type) == H5T_FLOAT ? 6.5F : 6.0F));
  }
  write_dataset(scratch / "x.h5", H5T_STD_U32LE, {2, 3});
  EXPECT_THAT(message_of([&] { vector_file::open(scratch / "x.h5"); }),
              HasSubstr("of a type that is not read piece by piece"));
  const hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(compact, H5D_COMPACT);
  write_dataset(scratch / "x.h5", H5T_IEEE_F32LE, {2, 3}, compact);
  EXPECT_THAT(message_of([&] { vector_file::open(scratch / "x.h5"); }),
              HasSubstr("is not stored contiguously"));
  H5Pclose(compact);
}

TEST(Hdf5, ReadsNoMoreThanTheLimit) {
  const folder scratch;
  write_hdf5(scratch / "x.h5", "train", {3, 2}, values.data());
  EXPECT_THAT(load_vectors(scratch / "x.h5", {.limit = 2}).data, ElementsAre(1, 2, 3, 4));
}

TEST(Hdf5, ADatasetWithoutRowsIsAnEmptySet) {
  const folder scratch;
  write_hdf5(scratch / "x.h5", "train", {0, 5}, nullptr);
  EXPECT_EQ(load_vectors(scratch / "x.h5").count, 0);
  EXPECT_EQ(load_vectors(scratch / "x.h5").dimension, 5);
}

TEST(Hdf5, SaysThatAFileIsNoHdf5AndPrintsNothingElse) {
  const folder scratch;
  const auto file = scratch.write("x.hdf5", "not HDF5");
  testing::internal::CaptureStderr();
  const std::string message = message_of([&] { load_vectors(file); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(message, HasSubstr("x.hdf5: is not a readable HDF5 file: "));
}

TEST(Hdf5, NamesADatasetThatIsNotThere) {
  const folder scratch;
  write_hdf5(scratch / "x.h5", "train", {2, 3}, values.data());
  EXPECT_THAT(message_of([&] { load_vectors(scratch / "x.h5:neighbors"); }),
              HasSubstr("x.h5: dataset 'neighbors' cannot be opened: "));
}

TEST(Hdf5, RefusesWhatIsNoMatrixOfNumbers) {
  const folder scratch;
  const auto message = [&](hid_t type, const std::vector<hsize_t>& shape) {
    write_dataset(scratch / "x.h5", type, shape);
    return message_of([&] { load_vectors(scratch / "x.h5"); });
  };
  EXPECT_THAT(message(H5T_IEEE_F32LE, {6}), HasSubstr("dataset 'train' has rank 1"));
  EXPECT_THAT(message(H5T_IEEE_F32LE, {1, 2, 3}), HasSubstr("has rank 3"));
  EXPECT_THAT(message(H5T_C_S1, {2, 3}), HasSubstr("does not hold numbers"));
}

TEST(Hdf5, RefusesAShapeThatItsStorageDoesNotBack) {
  const folder scratch;
  // 2^40 x 1024 float32 without stored data: valid HDF5, which reads as zeros.
  write_hdf5(scratch / "x.h5", "train", {hsize_t{1} << 40, 1024}, nullptr);
  EXPECT_THAT(message_of([&] { load_vectors(scratch / "x.h5"); }),
              HasSubstr("claims shape (1099511627776, 1024), but only 0 bytes of it are stored"));
}

TEST(Hdf5, RefusesChunksAndTellsHowToRewriteThem) {
  const folder scratch;
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const std::array<hsize_t, 2> chunk = {1, 3};
  H5Pset_chunk(properties, 2, chunk.data());
  write_dataset(scratch / "x.h5", H5T_IEEE_F32LE, {2, 3}, properties);
  H5Pclose(properties);
  EXPECT_THAT(message_of([&] { load_vectors(scratch / "x.h5"); }),
              HasSubstr("is stored in chunks; rewrite it with h5repack -l CONTI -f NONE"));
}

TEST(Hdf5, ReadsCompactStorage) {
  const folder scratch;
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(properties, H5D_COMPACT);
  write_dataset(scratch / "x.h5", H5T_IEEE_F32LE, {2, 3}, properties);
  H5Pclose(properties);
  EXPECT_THAT(load_vectors(scratch / "x.h5").data, ElementsAre(1, 2, 3, 4, 5, 6.5F));
}

TEST(Hdf5, RefusesDataOfOtherFiles) {
  const folder scratch;
  const auto other = scratch.write("other", std::string(24, 'x'));
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(properties, other.c_str(), 0, 24);
  write_dataset(scratch / "x.h5", H5T_IEEE_F32LE, {2, 3}, properties);
  H5Pclose(properties);
  EXPECT_THAT(message_of([&] { load_vectors(scratch / "x.h5"); }),
              HasSubstr("keeps its data in other files"));
}

TEST(Hdf5, RefusesALinkToAnotherFileAndNamesIt) {
  const folder scratch;
  write_hdf5(scratch / "other.h5", "real", {2, 3}, values.data());
  ASSERT_EQ(mkfifo((scratch / "fifo.h5").c_str(), 0600), 0);
  const hid_t file = H5Fcreate((scratch / "x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/real", file, "train", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("fifo.h5", "/real", file, "waits", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  const std::string in_memory = message_of([&] { load_vectors(scratch / "x.h5"); });
  EXPECT_THAT(in_memory, HasSubstr("link to another file; name that file: other.h5:/real"));
  EXPECT_EQ(message_of([&] { vector_file::open(scratch / "x.h5"); }), in_memory);
  message_of([&] { load_vectors(scratch / "x.h5:waits"); });
  message_of([&] { vector_file::open(scratch / "x.h5:waits"); });
}

TEST(Hdf5, ATruncatedFileIsAnError) {
  const folder scratch;
  write_hdf5(scratch / "x.h5", "train", {2, 3}, values.data());
  const std::string whole = input_files::read_file(scratch / "x.h5");
  scratch.write("x.h5", whole.substr(0, whole.size() - 8));
  EXPECT_THAT(message_of([&] { load_vectors(scratch / "x.h5"); }), HasSubstr("x.h5: "));
}

}  // namespace
}  // namespace kselect::runtime
