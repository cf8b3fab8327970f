"""The screens: they arrange panels and take keys."""
