// Package fleet measures, side by side with upstream where it can be asked, what a controller does again and again in a large
// cluster. It has benchmarks only.
package fleet
