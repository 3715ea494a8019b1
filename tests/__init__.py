"""The test-suite. README.md here says where a new test goes."""
