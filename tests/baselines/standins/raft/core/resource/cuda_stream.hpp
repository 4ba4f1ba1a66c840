#pragma once
#include "raft_standin.hpp"
