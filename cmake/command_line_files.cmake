# Man pages and shell completion, written by the program itself from its own commands, so that they
# cannot differ from it. kselect_add_command_line_files(PROGRAM) adds a target to `all` that writes
# them into build/share, laid out as they are installed, and the rule that installs them.

include(GNUInstallDirs)

function(kselect_add_command_line_files program)
  set(share ${CMAKE_CURRENT_BINARY_DIR}/share)
  set(bash ${share}/bash-completion/completions/kselect)
  set(zsh ${share}/zsh/site-functions/_kselect)
  set(fish ${share}/fish/vendor_completions.d/kselect.fish)
  foreach(file IN ITEMS ${bash} ${zsh} ${fish})
    get_filename_component(folder ${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
  endforeach()
  set(written ${CMAKE_CURRENT_BINARY_DIR}/command_line_files.written)
  add_custom_command(
    OUTPUT ${written} ${bash} ${zsh} ${fish}
    COMMAND ${program} man --all ${share}/man/man1
    COMMAND ${program} completion bash > ${bash}
    COMMAND ${program} completion zsh > ${zsh}
    COMMAND ${program} completion fish > ${fish}
    COMMAND ${CMAKE_COMMAND} -E touch ${written}
    DEPENDS ${program}
    COMMENT "Writing man pages and shell completion"
    VERBATIM)
  add_custom_target(kselect_command_line_files ALL DEPENDS ${written})
  # OPTIONAL: whoever builds the library alone has none of them.
  install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program OPTIONAL)
endfunction()
