package instancetype

import (
	_ "embed" // for the table
	"fmt"
	"strconv"
	"strings"
)

// limitsText is the table of network limits that are not in the EC2 API.
//
//go:generate go run -C ../../../tools/ec2catalog . -limits ../../cloud/aws/instancetype/limits.txt
//go:embed limits.txt
var limitsText string

// NetworkLimits are limits of an instance type's network. Unknown limits are zero.
type NetworkLimits struct {
	// Interfaces is the maximum number of network interfaces.
	Interfaces int64
	// IPv4PerInterface is how many IPv4 addresses an interface has, including the primary one.
	IPv4PerInterface int64
	// BranchInterfaces is the maximum number of branch interfaces, which serve single pods.
	BranchInterfaces int64
	// BandwidthMbps is the baseline bandwidth.
	BandwidthMbps int64
}

// Limits are the network limits by name of the type.
type Limits map[string]NetworkLimits

// KnownLimits parses the embedded table. It takes about a millisecond: call it once.
func KnownLimits() Limits {
	limits, err := parseLimits(limitsText)
	if err != nil {
		// The table is embedded, and a test parses it: only a broken build gets here.
		panic(fmt.Sprintf("reading the embedded table of network limits: %v", err))
	}
	return limits
}

// parseLimits reads lines of a name and four numbers; a dash stands for an unknown number.
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
