//go:build race

package screen

// raceDetector is set when the tests run with it, which makes them slower.
const raceDetector = true
