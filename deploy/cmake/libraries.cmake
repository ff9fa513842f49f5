# libraries - what Debian gives us, as targets; each is required.

include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)

function(exeat_library target module)
    pkg_check_modules(${target} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    add_library(exeat::${target} ALIAS PkgConfig::${target})
endfunction()

exeat_library(event_core libevent_core)
exeat_library(event_extra libevent_extra)
exeat_library(jansson jansson)
exeat_library(idn2 libidn2)
exeat_library(psl libpsl)
exeat_library(sqlite3 sqlite3)
exeat_library(ssl libssl)
exeat_library(crypto libcrypto)
exeat_library(curl libcurl)
exeat_library(jwt libjwt)
exeat_library(seccomp libseccomp)
exeat_library(mnl libmnl)
exeat_library(nftnl libnftnl)
exeat_library(cmocka cmocka)
