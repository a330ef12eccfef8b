package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode writes a catalog: a header with the origin of the data, then one type per line.
func encode(src source, region string, types []catalogType) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"source\": %q,\n\"version\": %q,\n\"date\": %q,\n\"region\": %q,\n\"types\": [\n",
		src.path, src.version, src.date, region)
	for i, t := range types {
		line, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", t.Name, err)
		}
		b.Write(line)
		if i < len(types)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n}\n")
	return b.Bytes(), nil
}
