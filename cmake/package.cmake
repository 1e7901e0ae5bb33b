# `cmake --install`, and what tools/package makes of it: a Debian package and a tarball.
include(GNUInstallDirs)

# A package of its own has Slurm's commands in /usr/bin; the tarball has their folder alone.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME berth)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # what is installed is built by name, without the tests

install(TARGETS berth berthd berth-shim berth-emu berth-load RUNTIME)
install(TARGETS berth_emu_nvml berth_emu_cuda LIBRARY NAMELINK_SKIP
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth/emu)
install(TARGETS berth_emu_mps RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth/emu)
foreach(section 1 7 8)
  file(GLOB pages CONFIGURE_DEPENDS doc/man/*.${section})
  list(FILTER pages EXCLUDE REGEX "/berth-slurm\\.8$")
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES clients/python/berth.py clients/python/berth_futures.py DESTINATION lib/python3/dist-packages)
install(DIRECTORY clients/slurm DESTINATION lib/berth USE_SOURCE_PERMISSIONS COMPONENT slurm
  PATTERN __pycache__ EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE CITATION.cff TYPE DOC)
# Where links of README and of these pages lead; messages and `--help` name some.
file(GLOB pages CONFIGURE_DEPENDS doc/*.md doc/*.svg doc/openapi.yaml)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc)
install(DIRECTORY doc/adr doc/evaluation doc/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE)

# What tools/package writes into build/release/made: scripts, units and the configuration. A plain
# `cmake --install` goes without.
set(made ${CMAKE_BINARY_DIR}/made)
install(FILES ${made}/berth.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME berth OPTIONAL)
install(FILES ${made}/_berth DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions OPTIONAL)
install(FILES ${made}/berth.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
install(FILES ${made}/system/berth.service DESTINATION lib/systemd/system OPTIONAL)
install(FILES ${made}/user/berth.service DESTINATION lib/systemd/user OPTIONAL)
install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES ${made}/berth.toml DESTINATION /etc/berth OPTIONAL)

install(DIRECTORY ${made}/slurm/ DESTINATION bin USE_SOURCE_PERMISSIONS COMPONENT slurm-links
  OPTIONAL)

# berth on Slurm: for the system's release of Slurm only, so it is in no tarball.
set(bridge)
if(TARGET berth-slurm)
  set(bridge bridge)
  install(TARGETS berth-slurm RUNTIME COMPONENT bridge)
  install(TARGETS berth_spank LIBRARY COMPONENT bridge
    DESTINATION lib/${CMAKE_LIBRARY_ARCHITECTURE}/slurm-wlm)
  install(FILES examples/slurm/job_submit.lua examples/slurm/cli_filter.lua
    DESTINATION share/berth COMPONENT bridge)
  install(PROGRAMS examples/slurm/install DESTINATION share/berth RENAME slurm-install
    COMPONENT bridge)
  install(FILES ${made}/system/berth-slurm.service ${made}/system/berth-agent.service
    DESTINATION lib/systemd/system COMPONENT bridge OPTIONAL)
  install(FILES packaging/slurm/default DESTINATION /etc/default RENAME berth-slurm COMPONENT bridge)
  install(FILES doc/man/berth-slurm.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT bridge)
  install(FILES doc/slurm.md LICENSE DESTINATION share/doc/berth-slurm COMPONENT bridge)
  install(PROGRAMS examples/slurm/up examples/slurm/down examples/slurm/pilot
    DESTINATION share/doc/berth-slurm/examples COMPONENT bridge)
  install(FILES examples/slurm/slurm.conf examples/slurm/gres.conf
    examples/slurm/held-slurm.conf examples/slurm/held-gres.conf
    DESTINATION share/doc/berth-slurm/examples COMPONENT bridge)
endif()

set(CPACK_PACKAGE_NAME berth)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "places on GPUs where a job's memory is guaranteed")
set(CPACK_PACKAGE_DESCRIPTION
  "berth starts a GPU job when and where its memory is free, and says why it waits
and until when. It runs any command unmodified, for all users of one machine,
and replays traces under published scheduling policies.")
set(CPACK_PACKAGE_CONTACT "The berth authors <berth@localhost>")
set(CPACK_PACKAGE_VENDOR berth)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL berth slurm slurm-links ${bridge})
set(CPACK_COMPONENT_SLURM_GROUP commands)
set(CPACK_COMPONENT_SLURM-LINKS_GROUP commands)
set(CPACK_DEBIAN_BERTH_PACKAGE_NAME berth)
set(CPACK_DEBIAN_BERTH_PACKAGE_SUGGESTS "curl, default-mta | mail-transport-agent")
set(CPACK_DEBIAN_COMMANDS_PACKAGE_NAME berth-slurm-commands)
set(CPACK_DEBIAN_COMMANDS_PACKAGE_DEPENDS "berth, python3")
set(CPACK_DEBIAN_COMMANDS_PACKAGE_CONFLICTS slurm-client)
set(CPACK_DEBIAN_COMMANDS_DESCRIPTION "Slurm's commands for berth
sbatch, squeue, sacct, scancel, srun, salloc, scontrol, sinfo, sacctmgr and sshare, which ask berthd
on this machine and answer as Slurm's would.")
set(CPACK_DEBIAN_BERTH_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/packaging/conffiles ${CMAKE_SOURCE_DIR}/packaging/postinst
  ${CMAKE_SOURCE_DIR}/packaging/prerm ${CMAKE_SOURCE_DIR}/packaging/postrm)
set(CPACK_DEBIAN_BRIDGE_PACKAGE_NAME berth-slurm)
set(CPACK_DEBIAN_BRIDGE_PACKAGE_DEPENDS "berth (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_BRIDGE_PACKAGE_SUGGESTS "slurmctld, munge")
set(CPACK_DEBIAN_BRIDGE_DESCRIPTION "berth on a Slurm cluster
Decides which GPU job of Slurm's runs when and on which GPUs, by GPU memory. With
a plugin of sbatch and srun for --vram and --class, and a script for job_submit.")
set(CPACK_DEBIAN_BRIDGE_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/packaging/slurm/conffiles ${CMAKE_SOURCE_DIR}/packaging/slurm/postinst
  ${CMAKE_SOURCE_DIR}/packaging/slurm/prerm ${CMAKE_SOURCE_DIR}/packaging/slurm/postrm)
include(CPack)
