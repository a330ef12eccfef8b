//go:build tools

package main

// The data set is read as a file, not linked. This import keeps it among the requirements.
import _ "github.com/LeanerCloud/ec2-instances-info"
