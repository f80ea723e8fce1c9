//! Links the program, which is C, with Solocore: `solo_declare` is in the .c files beside this one.
#![cfg_attr(target_os = "none", no_std, no_main)]

solo_app_c::program!();
