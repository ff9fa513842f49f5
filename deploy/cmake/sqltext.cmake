# sqltext - turns SQL files into the tables that gateway/audit/sqltext.h names.
#
# cmake -DOUT=<file.c> -DTABLE=<name> "-DFILES=a.sql|b.sql" -P sqltext.cmake
# Bytes are written as numbers: a string literal may not be long enough.

string(REPLACE "|" ";" FILES "${FILES}")
list(SORT FILES)
set(texts)
set(rows)
set(number 0)
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME_WE)
    file(STRINGS ${file} lines LIMIT_COUNT 1)
    string(REGEX REPLACE "^-- *" "" title "${lines}")
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
        bytes "${bytes}")
    string(APPEND texts
        "static const char text_${number}[] = { ${bytes} 0 };\n")
    string(APPEND rows
        "\t{ \"${name}\", \"${title}\", text_${number} },\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "#include \"gateway/audit/sqltext.h\"\n#include <stddef.h>\n"
    "${texts}const struct sqltext ${TABLE}[] = {\n${rows}"
    "\t{ NULL, NULL, NULL },\n};\n")
