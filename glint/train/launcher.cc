#include "glint/train/launcher.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/train/mpi_abi.h"

namespace glint {
namespace {

constexpr const char* kPlugin = "libglint_mpi.so";
constexpr const char* kAlone = "GLINT_MPI=off in the environment trains alone";

size_t number_or(const char* text, size_t otherwise) {
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return *end ? otherwise : static_cast<size_t>(value);
}

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(const GlintMpi& mpi) : mpi_(mpi) {
    char problem[512] = {};
    if (mpi.start(&rank_, &size_, problem, sizeof problem) != 0)
      throw Error({.what = std::string("MPI cannot begin: ") + problem, .where = mpi.built_for});
  }
  ~MpiTransport() override { mpi_.finish(); }
  size_t rank() const override { return static_cast<size_t>(rank_); }
  size_t size() const override { return static_cast<size_t>(size_); }

  size_t send(size_t to, int tag, std::span<const std::byte> bytes) override {
    return keep(mpi_.send(static_cast<int>(to), tag, bytes.data(), static_cast<int>(bytes.size())), to);
  }
  size_t receive(size_t from, int tag, std::span<std::byte> bytes) override {
    return keep(mpi_.receive(static_cast<int>(from), tag, bytes.data(), static_cast<int>(bytes.size())), from);
  }
  bool done(size_t ticket) override {
    const int over = mpi_.test(requests_[ticket]);
    if (over == 0) return false;
    requests_[ticket] = nullptr;
    free_.push_back(ticket);
    if (over < 0) lost("another rank");
    return true;
  }
  void abandon(std::span<const size_t> tickets) override {
    for (const size_t ticket : tickets)
      if (requests_[ticket]) {
        mpi_.abandon(requests_[ticket]);
        requests_[ticket] = nullptr;
        free_.push_back(ticket);
      }
  }
  void tell(size_t to, const std::string& word) override {
    mpi_.tell(static_cast<int>(to), word.data(), static_cast<int>(word.size()));
  }
  bool heard(size_t& from, std::string& word) override {
    char bytes[16384];
    int who = 0;
    const int length = mpi_.heard(&who, bytes, sizeof bytes);
    if (length < 0) return false;
    from = static_cast<size_t>(who);
    word.assign(bytes, static_cast<size_t>(length));
    return true;
  }
  void abort(int code) override { mpi_.abort(code); }

 private:
  size_t keep(void* request, size_t other) {
    if (!request) lost(rank_name(other, size()));
    if (free_.empty()) {
      requests_.push_back(request);
      return requests_.size() - 1;
    }
    const size_t ticket = free_.back();
    free_.pop_back();
    requests_[ticket] = request;
    return ticket;
  }
  [[noreturn]] static void lost(const std::string& whom) {
    throw Error({.what = "the connection to " + whom + " is lost", .where = "MPI"});
  }

  const GlintMpi& mpi_;
  int rank_ = 0, size_ = 1;
  std::vector<void*> requests_;
  std::vector<size_t> free_;
};

const GlintMpi& open_plugin(const Launcher& launcher) {
  void* handle = nullptr;
  std::string why;
  // Global, because parts of Open MPI look for its symbols there.
  for (const std::string& place : plugin_places()) {
    if (place.find('/') != place.npos && !std::filesystem::exists(place)) continue;
    handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (handle) break;
    if (why.empty()) why = ::dlerror();
  }
  const std::string started =
      launcher.name() + " started " + (launcher.size ? std::to_string(launcher.size) : "several") + " processes";
  if (!handle)
    throw Error({.code = ErrorCode::usage,
                 .what = started + ", but glint's plugin for MPI cannot be opened: " + why,
                 .where = kPlugin,
                 .expected = "the plugin beside the program, or GLINT_MPI=FILE",
                 .hint = "install an MPI with its headers (Debian: libopenmpi-dev openmpi-bin) and build "
                         "again: make build. Or " +
                         std::string(kAlone)});
  const auto entry = reinterpret_cast<GlintMpiEntry>(::dlsym(handle, kGlintMpiEntry));
  const GlintMpi* mpi = entry ? entry() : nullptr;
  if (!mpi || mpi->abi != kGlintMpiAbi)
    throw Error({.code = ErrorCode::usage,
                 .what = "the plugin for MPI is of another version of glint",
                 .where = kPlugin,
                 .expected = "the plugin that was built with this program",
                 .hint = "build again: make build"});
  const std::string built_for = mpi->built_for;
  const bool wrong = (launcher.kind == Launcher::Kind::open_mpi && built_for.starts_with("MPICH")) ||
                     (launcher.kind == Launcher::Kind::mpich && built_for.starts_with("Open MPI"));
  if (wrong)
    throw Error({.code = ErrorCode::usage,
                 .what = "the plugin for MPI was built for " + built_for + ", but the launcher is " + launcher.name(),
                 .where = kPlugin,
                 .expected = "launcher and plugin of one MPI",
                 .hint = "the mpirun of " + built_for +
                         "; or build glint again with the other MPI: "
                         "cmake -DGLINT_MPICXX=COMPILER"});
  return *mpi;
}

}  // namespace

std::string Launcher::name() const {
  switch (kind) {
    case Kind::open_mpi:
      return "mpirun of Open MPI";
    case Kind::mpich:
      return "mpirun of MPICH";
    case Kind::slurm:
      return "Slurm";
    case Kind::other:
      return "a launcher";
    case Kind::none:
      break;
  }
  return "no launcher";
}

Launcher find_launcher(const std::function<const char*(const char*)>& variable) {
  using Kind = Launcher::Kind;
  const auto number = [&](const char* name, size_t otherwise) { return number_or(variable(name), otherwise); };
  if (const char* own = variable("GLINT_MPI"); own && std::string(own) == "off") return {};
  if (variable("OMPI_COMM_WORLD_SIZE"))
    return {Kind::open_mpi, number("OMPI_COMM_WORLD_RANK", 0), number("OMPI_COMM_WORLD_SIZE", 0)};
  // Within a step of srun there may be PMI or PMIx, and without them every task would be alone.
  const size_t tasks = number("SLURM_STEP_NUM_TASKS", number("SLURM_NTASKS", 1));
  if (tasks > 1) return {Kind::slurm, number("SLURM_PROCID", 0), tasks};
  if (variable("PMI_SIZE")) return {Kind::mpich, number("PMI_RANK", 0), number("PMI_SIZE", 0)};
  if (variable("PMIX_RANK")) return {Kind::other, number("PMIX_RANK", 0), 0};
  return {};
}

Launcher find_launcher() {
  return find_launcher([](const char* name) -> const char* { return std::getenv(name); });
}

std::vector<std::string> plugin_places() {
  if (const char* own = std::getenv("GLINT_MPI"); own && *own) return {own};
  std::vector<std::string> places;
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed)
    for (const char* folder : {".", "..", "../lib/glint", "../lib64/glint", "../lib/x86_64-linux-gnu/glint"})
      places.push_back((program.parent_path() / folder / kPlugin).lexically_normal());
  places.push_back(kPlugin);
  return places;
}

std::unique_ptr<Group> launched_group(const Launcher& launcher) {
  if (launcher.size == 1) return std::make_unique<Group>();
  const GlintMpi& mpi = open_plugin(launcher);
  auto transport = std::make_unique<MpiTransport>(mpi);
  if (transport->size() == 1 && launcher.size > 1) {
    const bool slurm = launcher.kind == Launcher::Kind::slurm;
    throw Error({.code = ErrorCode::usage,
                 .what = launcher.name() + (slurm ? " has " : " started ") + std::to_string(launcher.size) +
                         (slurm ? " tasks" : " processes") + ", but MPI sees only this one: each would train alone",
                 .where = mpi.built_for,
                 .expected = "processes that find each other",
                 .hint = (slurm ? "SLURM_MPI_TYPE=pmix srun glint train ..., or mpirun glint train ...; "
                                : "the mpirun of that MPI; ") +
                         std::string(kAlone)});
  }
  if (transport->size() == 1) return std::make_unique<Group>();
  return std::make_unique<Group>(std::move(transport));
}

}  // namespace glint
