package kind

import "strings"

// capacityColumn shows how much storage there is.
func capacityColumn(path string) column {
	return column{name: "Capacity", kind: "string", value: func(r row) any {
		size, _ := r.object(path)["storage"].(string)
		return size
	}}
}

// modesColumn shows access modes by their initials.
func modesColumn(path string) column {
	return column{name: "Access Modes", kind: "string", value: func(r row) any { return initials(r.get(path)) }}
}

func initials(modes any) string {
	short := map[any]string{"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
	list, _ := modes.([]any)
	var out []string
	for _, mode := range list {
		out = append(out, short[mode])
	}
	return strings.Join(out, ",")
}

// boundCapacityColumn is the capacity of a claim that has a volume.
func boundCapacityColumn() column {
	c := capacityColumn("status.capacity")
	return onlyBound(c)
}

func boundModesColumn() column { return onlyBound(modesColumn("status.accessModes")) }

// onlyBound is empty for a claim without a volume.
func onlyBound(c column) column {
	value := c.value
	c.value = func(r row) any {
		if r.text("spec.volumeName") == "" {
			return ""
		}
		return value(r)
	}
	return c
}

// unsetColumn says that there is no value.
func unsetColumn(name, path string) column {
	return column{name: name, kind: "string", value: func(r row) any {
		if v := r.text(path); v != "" {
			return v
		}
		return "<unset>"
	}}
}
