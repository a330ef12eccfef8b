package awstest

import "encoding/json"

// SetParameter sets a public parameter; an empty value removes it.
func (a *Account) SetParameter(path, value string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if value == "" {
		delete(a.params, path)
		return
	}
	a.params[path] = value
}

// Parameter is the value of a public parameter; empty if there is none.
func (a *Account) Parameter(path string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.params[path]
}

func getParameter(a *Account, f *form) (any, error) {
	var in struct{ Name string }
	if err := json.Unmarshal([]byte(f.body), &in); err != nil {
		return nil, refuse("SerializationException", "%v", err)
	}
	value, ok := a.params[in.Name]
	if !ok {
		return nil, refuse("ParameterNotFound", "")
	}
	return map[string]any{"Parameter": map[string]any{"Name": in.Name, "Type": "String", "Value": value, "Version": 1}}, nil
}
