# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version of all of Bagua: CMake and pip read it from here."""
VERSION = "0.3.0"
