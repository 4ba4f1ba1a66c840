// A shared object that is no plug-in of kselect.

extern "C" int stranger() { return 42; }
