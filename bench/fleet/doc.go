// Package fleet measures, side by side with upstream where possible, the periodic tasks of a controller in a large
// cluster. It has benchmarks only.
package fleet
