package batch

import "time"

// CreateFleet is how launches gather.
func CreateFleet() Options {
	return Options{Idle: 35 * time.Millisecond, Max: time.Second, Items: 1000}
}

// DescribeInstances is how questions for instances gather.
func DescribeInstances() Options {
	return Options{Idle: 100 * time.Millisecond, Max: time.Second, Items: 500}
}

// TerminateInstances is how ends of instances gather.
func TerminateInstances() Options {
	return Options{Idle: 100 * time.Millisecond, Max: time.Second, Items: 500}
}
