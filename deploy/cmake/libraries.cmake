# libraries - what Debian gives us, as targets; each is required.

include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)

function(exeat_library target module)
    pkg_check_modules(${target} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    add_library(exeat::${target} ALIAS PkgConfig::${target})
endfunction()

# For a target with EXEAT_STATIC the archive, where there is one.
function(exeat_archive target)
    get_target_property(shared PkgConfig::${target} INTERFACE_LINK_LIBRARIES)
    find_library(EXEAT_ARCHIVE_${target} lib${target}.a)
    mark_as_advanced(EXEAT_ARCHIVE_${target})
    if(NOT EXEAT_ARCHIVE_${target})
        set(EXEAT_ARCHIVES OFF PARENT_SCOPE)
        return()
    endif()
    set_target_properties(PkgConfig::${target} PROPERTIES
        INTERFACE_LINK_LIBRARIES
        "$<IF:$<BOOL:$<TARGET_PROPERTY:EXEAT_STATIC>>,${EXEAT_ARCHIVE_${target}},${shared}>")
endfunction()

exeat_library(event_core libevent_core)
exeat_library(event_extra libevent_extra)
exeat_library(jansson jansson)
exeat_library(idn2 libidn2)
exeat_library(psl libpsl)
exeat_library(sqlite3 sqlite3)
exeat_library(nghttp2 libnghttp2)
exeat_library(pq libpq)
exeat_library(ssl libssl)
exeat_library(crypto libcrypto)
exeat_library(curl libcurl)
exeat_library(jwt libjwt)
exeat_library(zlib zlib)
exeat_library(seccomp libseccomp)
exeat_library(mnl libmnl)
exeat_library(nftnl libnftnl)
exeat_library(cmocka cmocka)

set(EXEAT_ARCHIVES ON)
foreach(library event_core jansson)
    exeat_archive(${library})
endforeach()
