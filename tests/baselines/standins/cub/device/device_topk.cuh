#pragma once
#include "cub_standin.hpp"
