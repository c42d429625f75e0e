// Reads the manifests of config/kubernetes into the types of the API itself, strictly: an unknown field, a field of another
// type and a field that stands twice are errors. Prints the fields of every type that the manifests use as JSON, so that
// the test suite can check them where there is no Go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"apps/v1 Deployment":                            func() any { return &apps.Deployment{} },
	"v1 Service":                                    func() any { return &core.Service{} },
	"policy/v1 PodDisruptionBudget":                 func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 NetworkPolicy":            func() any { return &networking.NetworkPolicy{} },
	"monitoring.coreos.com/v1 ServiceMonitor":       func() any { return &monitoring.ServiceMonitor{} },
	"kustomize.config.k8s.io/v1beta1 Kustomization": func() any { return &kustomize.Kustomization{} },
}

// The fields of each type by their names in YAML: "string", "[]core.Container", "map[string]resource.Quantity".
var shapes = map[string]map[string]string{}

func main() {
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	used := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(file, err)
		var named struct{ APIVersion, Kind string }
		check(file, yaml.Unmarshal(text, &named))
		if named.Kind == "" {
			continue
		}
		name := named.APIVersion + " " + named.Kind
		empty, known := kinds[name]
		if !known {
			check(file, fmt.Errorf("no type for %q", name))
		}
		object := empty()
		check(file, yaml.UnmarshalStrict(text, object))
		used[name] = nameOf(reflect.TypeOf(object).Elem())
		var tree any
		check(file, yaml.Unmarshal(text, &tree))
		visit(reflect.TypeOf(object), tree)
		fmt.Fprintln(os.Stderr, "ok", filepath.Base(file), name)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	check("output", out.Encode(map[string]any{"kinds": used, "types": shapes}))
}

func check(file string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(file)+":", err)
		os.Exit(1)
	}
}

// Notes the fields of the types along the values that a manifest has.
func visit(t reflect.Type, value any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch node := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, each := range node {
				visit(t.Elem(), each)
			}
			return
		}
		fields := fieldsOf(t)
		shape := map[string]string{}
		for name, field := range fields {
			shape[name] = nameOf(field)
		}
		shapes[nameOf(t)] = shape
		for name, each := range node {
			visit(fields[name], each)
		}
	case []any:
		for _, each := range node {
			visit(t.Elem(), each)
		}
	}
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && (strings.Contains(options, "inline") || field.Anonymous) {
			for inner, of := range fieldsOf(field.Type) {
				fields[inner] = of
			}
		} else if name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}

// How a type is written in YAML: types that write themselves as a text or a number count as that.
func nameOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.String() {
	case "resource.Quantity", "v1.Time", "v1.Duration":
		return "string"
	case "intstr.IntOrString":
		return "string or number"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "[]" + nameOf(t.Elem())
	case reflect.Map:
		return "{}" + nameOf(t.Elem())
	case reflect.Struct:
		return filepath.Base(t.PkgPath()) + "." + t.Name() + "@" + filepath.Base(filepath.Dir(t.PkgPath()))
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Interface:
		return "any"
	}
	return "number"
}
