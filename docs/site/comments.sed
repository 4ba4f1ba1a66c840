#!/bin/sed -f
# Comments of headers as Doxygen reads them: `//` before a declaration, and `//` after a member.
s/^#pragma once$/&\n\/\/\/ \\file/
s|^\( *\)// |\1/// |
s|^\( *\)//$|\1///|
s|\([;,]\)  *// |\1  ///< |
