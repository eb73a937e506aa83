#include <cstdio>
int main() { std::puts("glint " GLINT_VERSION); }
