package kind

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func controllerRevisionHooks() hooks {
	return hooks{
		validate: on2(func(o, old *appsv1.ControllerRevision, _ bool) field.ErrorList {
			var errs field.ErrorList
			if len(o.Data.Raw) == 0 && o.Data.Object == nil {
				errs = append(errs, field.Required(field.NewPath("data"), "data is mandatory"))
			}
			errs = append(errs, validation.ValidateNonnegativeField(o.Revision, field.NewPath("revision"))...)
			if old != nil {
				errs = append(errs, validation.ValidateImmutableField(o.Data, old.Data, field.NewPath("data"))...)
			}
			return errs
		}),
		columns: []column{
			nameColumn(),
			{name: "Controller", kind: "string", value: controllerOf},
			{name: "Revision", kind: "string", value: func(o row) any { return o.number("revision") }},
			ageColumn(),
		},
	}
}

// controllerOf is the controller of an object as kubectl writes it: daemonset.apps/agent.
func controllerOf(o row) any {
	for _, owner := range o.list("metadata.ownerReferences") {
		if owner.get("controller") == true {
			group := schema.FromAPIVersionAndKind(owner.text("apiVersion"), owner.text("kind")).GroupKind()
			return strings.ToLower(group.String()) + "/" + owner.text("name")
		}
	}
	return "<none>"
}
