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
	cards              []int64 // maximum number of interfaces of each network card, by its index
	// fabricAdapters is the number of EFA interfaces. Where no data set has it, it is one: what is certain about a type that supports EFA.
	fabricAdapters int64
}

// parseHardware reads lines of a name, the maker of the CPU, four numbers, the model of the GPU, the interfaces of each network card and
// the number of fabric adapters, with a plus where there may be more; a dash stands for what is not there.
func parseHardware(text string) (map[string]hardware, error) {
	out := map[string]hardware{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 9 {
			return nil, fmt.Errorf("line %q: want 9 fields", line)
		}
		h := hardware{maker: there(fields[1]), gpuModel: strings.ReplaceAll(there(fields[6]), "_", " ")}
		for at, into := range map[int]*int64{2: &h.megahertz, 3: &h.ebsMbps, 4: &h.diskGB, 5: &h.gpuMiB, 8: &h.fabricAdapters} {
			n, err := wholeNumber(strings.TrimSuffix(fields[at], "+"))
			if err != nil {
				return nil, fmt.Errorf("line %q: %w", line, err)
			}
			*into = n
		}
		if there(fields[7]) != "" {
			for card := range strings.SplitSeq(fields[7], ",") {
				n, err := wholeNumber(card)
				if err != nil {
					return nil, fmt.Errorf("line %q: %w", line, err)
				}
				h.cards = append(h.cards, n)
			}
		}
		out[fields[0]] = h
	}
	return out, nil
}

// wholeNumber reads a number, or zero from a dash.
func wholeNumber(field string) (int64, error) {
	if field == "-" {
		return 0, nil
	}
	return strconv.ParseInt(field, 10, 64)
}

// there is a text, or nothing for a dash.
func there(field string) string {
	if field == "-" {
		return ""
	}
	return field
}
