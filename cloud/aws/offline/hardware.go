package offline

import (
	_ "embed" // for the table
	"fmt"
	"strconv"
	"strings"
)

// hardwareText is a table of what instance types are made of.
//
//go:generate go run -C ../../../tools/ec2catalog . -hardware ../../cloud/aws/offline/hardware.txt
//go:embed hardware.txt
var hardwareText string

// hardware is the hardware of an instance type. Unknown and missing parts are zero.
type hardware struct {
	maker              string
	megahertz, ebsMbps int64
	diskGB, gpuMiB     int64
	gpuModel           string
}

// parseHardware reads lines of a name, the maker of the CPU, four numbers and the model of the GPU; a dash stands for what is not there.
func parseHardware(text string) (map[string]hardware, error) {
	out := map[string]hardware{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 7 {
			return nil, fmt.Errorf("line %q: want 7 fields", line)
		}
		var numbers [4]int64
		for i, field := range fields[2:6] {
			if field == "-" {
				continue
			}
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %q: %w", line, err)
			}
			numbers[i] = n
		}
		out[fields[0]] = hardware{
			maker: there(fields[1]), megahertz: numbers[0], ebsMbps: numbers[1], diskGB: numbers[2], gpuMiB: numbers[3],
			gpuModel: strings.ReplaceAll(there(fields[6]), "_", " "),
		}
	}
	return out, nil
}

// there is a text, or nothing for a dash.
func there(field string) string {
	if field == "-" {
		return ""
	}
	return field
}
