/// What a library registers while it is loaded, in the order of its definitions.
#ifndef MINPY_REGISTRY_H_
#define MINPY_REGISTRY_H_

#include <memory>

#include "messages.h"
#include "platform.h"

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// All operators, partitioners or passes of this library. Hidden, so that libraries of one process do not
/// share theirs.
template <class T>
class PRIVATE_SYMBOL Registry {
 public:
  static Registry* get() {
    static Registry* registry = new Registry;
    return registry;
  }

  T& add(const char* name) {
    entries_.push_back(std::unique_ptr<T>(new T(name)));
    return *entries_.back();
  }

  int size() const { return static_cast<int>(entries_.size()); }

  T& get(int index) {
    if (index < 0 || index >= size()) {
      throw std::out_of_range("number " + std::to_string(index) + " of " + std::to_string(size()) +
                              " registered");
    }
    return *entries_[static_cast<std::size_t>(index)];
  }

 private:
  Registry() {}

  std::vector<std::unique_ptr<T>> entries_;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

/// The start of the definition of a variable that refers to a new registry entry, to be followed by setters
/// and a semicolon.
#define MINPY_REGISTER(Kind, Name)                                                                \
  __attribute__((unused)) static ::mxnet::ext::Kind& MX_STR_CONCAT(mx_registered_, __COUNTER__) = \
      ::mxnet::ext::Registry<::mxnet::ext::Kind>::get()->add(MX_TOSTRING(Name))

namespace minpy PRIVATE_SYMBOL {

/// Says what is wrong with a registration. It happens while the library is being loaded, when an exception
/// would end the process: the host, given no functions for this entry, refuses it.
inline void report_registration(const std::string& problem) {
  ::mxnet::ext::MXerrorMsgs::get()->add("registration", 0) << problem;
  std::cerr << "Error in the registration of " << problem << std::endl;
}

}  // namespace minpy

#endif  // MINPY_REGISTRY_H_
