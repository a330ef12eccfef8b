package instancetype

import (
	_ "embed" // for the table
	"fmt"
	"strconv"
	"strings"
)

// limitsText is the table of network limits that EC2 does not tell by its API.
//
//go:generate go run -C ../../../tools/ec2catalog . -limits ../../cloud/aws/instancetype/limits.txt
//go:embed limits.txt
var limitsText string

// NetworkLimits are limits of an instance type's network. What is not known is zero.
type NetworkLimits struct {
	// Interfaces is how many network interfaces there can be.
	Interfaces int64
	// IPv4PerInterface is how many IPv4 addresses an interface has, its own included.
	IPv4PerInterface int64
	// BranchInterfaces is how many interfaces for single pods there can be.
	BranchInterfaces int64
	// BandwidthMbps is what the network carries all the time.
	BandwidthMbps int64
}

// Limits are the network limits by name of the type.
type Limits map[string]NetworkLimits

// KnownLimits reads the table that is part of the program. It takes about a millisecond: read it once.
func KnownLimits() Limits {
	limits, err := parseLimits(limitsText)
	if err != nil {
		// The table is embedded, and a test reads it: only a wrong build gets here.
		panic(fmt.Sprintf("reading the embedded table of network limits: %v", err))
	}
	return limits
}

// parseLimits reads lines of a name and four numbers; a dash stands for a number that is not known.
func parseLimits(text string) (Limits, error) {
	limits := Limits{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 5 {
			return nil, fmt.Errorf("line %q: want 5 fields", line)
		}
		var numbers [4]int64
		for i, field := range fields[1:] {
			if field == "-" {
				continue
			}
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %q: %w", line, err)
			}
			numbers[i] = n
		}
		limits[fields[0]] = NetworkLimits{Interfaces: numbers[0], IPv4PerInterface: numbers[1], BranchInterfaces: numbers[2], BandwidthMbps: numbers[3]}
	}
	return limits, nil
}
