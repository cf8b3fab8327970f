"""What a source holds, in other programs' formats: one file a kind of output."""
