package awstest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Profile is an instance profile.
type Profile struct {
	Name, Path string
	// Roles are the names of its roles, at most one.
	Roles   []string
	Tags    map[string]string
	created time.Time
}

// AddProfile adds an instance profile.
func (a *Account) AddProfile(p Profile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.profiles = append(a.profiles, &p)
}

// Profiles are the existing instance profiles, in order of age.
func (a *Account) Profiles() []Profile {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Profile
	for _, p := range a.profiles {
		out = append(out, Profile{Name: p.Name, Path: p.Path, Roles: slices.Clone(p.Roles), Tags: p.Tags})
	}
	return out
}

// AddRole adds a role.
func (a *Account) AddRole(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roles = append(a.roles, name)
}

// noSuchEntity is the IAM error for missing entities.
func noSuchEntity(kind, name string) error {
	return &apiError{status: http.StatusNotFound, code: "NoSuchEntity", message: "The " + kind + " with name " + name + " cannot be found."}
}

// profile is an instance profile by its name. The account is locked.
func (a *Account) profile(name string) (*Profile, error) {
	at := slices.IndexFunc(a.profiles, func(p *Profile) bool { return p.Name == name })
	if at < 0 {
		return nil, &apiError{status: http.StatusNotFound, code: "NoSuchEntity", message: "Instance Profile " + name + " cannot be found."}
	}
	return a.profiles[at], nil
}

// profileExists returns EC2's error for a missing profile; an empty name is fine. The account is locked.
func (a *Account) profileExists(name string) error {
	if name == "" {
		return nil
	}
	if _, err := a.profile(name); err != nil {
		return refuse("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", name)
	}
	return nil
}

type wireProfile struct {
	ARN     string     `xml:"Arn"`
	Created string     `xml:"CreateDate"`
	ID      string     `xml:"InstanceProfileId"`
	Name    string     `xml:"InstanceProfileName"`
	Path    string     `xml:"Path"`
	Roles   []wireRole `xml:"Roles>member"`
	Tags    []iamTag   `xml:"Tags>member"`
}

type wireRole struct {
	ARN     string `xml:"Arn"`
	Created string `xml:"CreateDate"`
	Path    string `xml:"Path"`
	ID      string `xml:"RoleId"`
	Name    string `xml:"RoleName"`
}

type iamTag struct{ Key, Value string }

func (p *Profile) wire() wireProfile {
	w := wireProfile{
		ARN: "arn:aws:iam::" + AccountID + ":instance-profile" + p.Path + p.Name, Created: stamp(p.created), ID: "AIPA" + shortHash(p.Name), Name: p.Name, Path: p.Path,
	}
	for _, role := range p.Roles {
		w.Roles = append(w.Roles, wireRole{"arn:aws:iam::" + AccountID + ":role/" + role, stamp(p.created), "/", "AROA" + shortHash(role), role})
	}
	for _, t := range wireTags(p.Tags) {
		w.Tags = append(w.Tags, iamTag(t))
	}
	return w
}

func getInstanceProfile(a *Account, f *form) (any, error) {
	p, err := a.profile(f.text("InstanceProfileName"))
	if err != nil {
		return nil, err
	}
	return struct {
		Profile wireProfile `xml:"InstanceProfile"`
	}{p.wire()}, nil
}

func createInstanceProfile(a *Account, f *form) (any, error) {
	p := &Profile{Name: f.text("InstanceProfileName"), Path: f.or("Path", "/"), Tags: f.tagSet("Tags.member"), created: a.clock.Now()}
	if _, err := a.profile(p.Name); err == nil {
		return nil, &apiError{status: http.StatusConflict, code: "EntityAlreadyExists", message: "Instance Profile " + p.Name + " already exists."}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	a.profiles = append(a.profiles, p)
	return struct {
		Profile wireProfile `xml:"InstanceProfile"`
	}{p.wire()}, nil
}

func addRoleToInstanceProfile(a *Account, f *form) (any, error) {
	role := f.text("RoleName")
	p, err := a.profile(f.text("InstanceProfileName"))
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(a.roles, role):
		return nil, noSuchEntity("role", role)
	case len(p.Roles) > 0:
		return nil, &apiError{status: http.StatusConflict, code: "LimitExceeded", message: "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1"}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	p.Roles = append(p.Roles, role)
	return nil, nil
}

func removeRoleFromInstanceProfile(a *Account, f *form) (any, error) {
	role := f.text("RoleName")
	p, err := a.profile(f.text("InstanceProfileName"))
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(p.Roles, role):
		return nil, noSuchEntity("role", role)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	p.Roles = slices.DeleteFunc(p.Roles, func(have string) bool { return have == role })
	return nil, nil
}

func deleteInstanceProfile(a *Account, f *form) (any, error) {
	p, err := a.profile(f.text("InstanceProfileName"))
	switch {
	case err != nil:
		return nil, err
	case len(p.Roles) > 0:
		return nil, &apiError{status: http.StatusConflict, code: "DeleteConflict", message: "Cannot delete entity, must remove roles from instance profile first."}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	a.profiles = slices.DeleteFunc(a.profiles, func(have *Profile) bool { return have == p })
	return nil, nil
}

func listInstanceProfiles(a *Account, f *form) (any, error) {
	prefix := f.or("PathPrefix", "/")
	f.text("MaxItems")
	var found []wireProfile
	for _, p := range a.profiles {
		if strings.HasPrefix(p.Path, prefix) {
			found = append(found, p.wire())
		}
	}
	return struct {
		Profiles  []wireProfile `xml:"InstanceProfiles>member"`
		Truncated bool          `xml:"IsTruncated"`
	}{found, false}, nil
}
