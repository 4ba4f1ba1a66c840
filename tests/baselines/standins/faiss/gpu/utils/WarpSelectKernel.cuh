#pragma once
#include "faiss_standin.hpp"
