"""Two programs succeed and print the same, which is not nothing. usage: same_output.py PROGRAM PROGRAM"""
import subprocess
import sys

first, second = (subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout
                 for program in sys.argv[1:])
print(first)
sys.exit('these differ:\n' + second if first != second or not first else 0)
