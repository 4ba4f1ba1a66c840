"""The version of the package, which is the project's (CMakeLists.txt)."""

__version__ = "0.1.0"
