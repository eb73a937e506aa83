#include "glint/lab/work/leases.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/json.h"

namespace glint {
namespace {

std::string this_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// When a process began, in the clock of its machine: a number that comes back has another.
std::string start_of(long pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const size_t end = text.rfind(')');  // the name before it may hold anything
  if (end == text.npos) return "";
  std::istringstream rest(text.substr(end + 1));
  std::string word;
  for (int i = 0; i < 20; i++) rest >> word;  // field 22
  return word;
}

std::string make_token() {
  std::random_device device;
  std::ostringstream text;
  text << std::hex << device() << device();
  return text.str();
}

// "" when there is none.
std::string read_lease(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  return text.str();
}

[[noreturn]] void refuse_lease(const std::string& file, int code) {
  throw Error({.what = std::string("cannot write a lease: ") + std::strerror(code), .where = file});
}

void write_lease(const std::string& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) refuse_lease(file, errno);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int code = errno;
  ::close(fd);
  if (written == static_cast<ssize_t>(text.size())) return;
  ::unlink(file.c_str());
  refuse_lease(file, written < 0 ? code : ENOSPC);
}

// An empty object for what is no lease, as for a file that is gone.
Json parse_lease(const std::string& text) {
  const Json j = Json::parse(text, nullptr, false);
  return j.is_object() && j.contains("host") && j["host"].is_string() && j.contains("pid") &&
                 j["pid"].is_number_integer()
             ? j
             : Json::object();
}

}  // namespace

Leases::Leases(LeaseTimes times)
    : times_(times),
      host_(this_host()),
      token_(make_token()),
      renewer_([this](std::stop_token stop) { renew_all(stop); }) {}

Leases::~Leases() {
  renewer_.request_stop();
  renewer_.join();
  for (const auto& [file, held] : held_)
    if (!held.lost && parse_lease(read_lease(file)).value("token", "") == token_) ::unlink(file.c_str());
}

std::string Leases::content(uint64_t number) const {
  const long pid = ::getpid();
  return Json{{"host", host_},
              {"pid", pid},
              {"started", start_of(pid)},
              {"token", token_},
              {"number", number},
              {"time",
               std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                   .count()}}
             .dump() +
         "\n";
}

std::string Leases::own_name(const std::string& file) {
  return file + "." + host_ + "." + token_ + "." + std::to_string(files_++);
}

// A link is made once, on NFS too; where the answer got lost the number of links says that it was made.
bool Leases::link_new(const std::string& file) {
  const std::string own = own_name(file);
  write_lease(own, content(0));
  const int failed = ::link(own.c_str(), file.c_str()) == 0 ? 0 : errno;
  struct stat info {};
  const bool ours = failed == 0 || (::stat(own.c_str(), &info) == 0 && info.st_nlink == 2);
  ::unlink(own.c_str());
  if (!ours && failed != EEXIST) refuse_lease(file, failed);
  if (ours) held_[file] = {};
  return ours;
}

bool Leases::is_stale(const std::string& file, const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  // The clock begins when a content is first seen, that of a file that was just made ("") too.
  Seen& seen = seen_.try_emplace(file, Seen{text, now}).first->second;
  if (seen.content != text) seen = {text, now};
  const Json j = parse_lease(text);
  if (j.value("host", "") == host_) {
    const long pid = j["pid"].get<long>();
    if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
    if (const std::string began = start_of(pid); !began.empty() && began != j.value("started", "")) return true;
  }
  return now - seen.since >= times_.stale;
}

// Of several that try only one can move the file away. If its holder renewed it in that moment it is put
// back.
bool Leases::take_over(const std::string& file, const std::string& text) {
  const std::string own = own_name(file);
  if (::rename(file.c_str(), own.c_str()) != 0) return false;
  const bool stale = read_lease(own) == text;
  if (!stale) [[maybe_unused]]
    const int back = ::link(own.c_str(), file.c_str());
  ::unlink(own.c_str());
  return stale && link_new(file);
}

bool Leases::claim(const std::string& file) {
  const std::lock_guard lock(mutex_);
  if (const auto held = held_.find(file); held != held_.end()) return !held->second.lost;
  const std::string text = read_lease(file);
  if (text.empty() && !exists(file)) return link_new(file);
  return is_stale(file, text) && take_over(file, text);
}

void Leases::release(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find(file);
  if (held == held_.end()) return;
  if (!held->second.lost && parse_lease(read_lease(file)).value("token", "") == token_) ::unlink(file.c_str());
  held_.erase(held);
}

bool Leases::lost(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find(file);
  return held != held_.end() && held->second.lost;
}

std::string Leases::holder(const std::string& file) {
  const Json j = parse_lease(read_lease(file));
  if (j.empty()) return "";
  return j["host"].get<std::string>() + ", process " + std::to_string(j["pid"].get<long>());
}

void Leases::renew(const std::string& file, Held& held) {
  if (parse_lease(read_lease(file)).value("token", "") != token_) {
    held.lost = true;
    return;
  }
  const std::string own = own_name(file);
  try {
    write_lease(own, content(++held.number));
    if (::rename(own.c_str(), file.c_str()) != 0) ::unlink(own.c_str());
  } catch (const Error&) {  // a disk that is full now may have room the next time
  }
}

void Leases::renew_all(std::stop_token stop) {
  std::mutex sleeping;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    std::unique_lock lock(sleeping);
    wake.wait_for(lock, stop, times_.renew, [] { return false; });
    if (stop.stop_requested()) return;
    const std::lock_guard own(mutex_);
    for (auto& [file, held] : held_)
      if (!held.lost) renew(file, held);
  }
}

}  // namespace glint
